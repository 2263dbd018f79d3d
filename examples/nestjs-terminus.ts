// The health of consumers as probes of a NestJS application, by Terminus: ready, not ready while paused, live all the time.
import assert from 'node:assert/strict'
import { NestFactory } from '@nestjs/core'
import { messageId } from 'consume-once'
import { MemoryBroker, memoryStore, runMemory, type RunMemoryOptions } from 'consume-once/memory'
import { ConsumeOnceModule, HandleOnce } from 'consume-once/nestjs'
// #region readme
import { Controller, Get, Inject, Injectable, Module } from '@nestjs/common'
import { HealthCheck, HealthCheckService, TerminusModule } from '@nestjs/terminus'
import { ConsumeOnceConsumers } from 'consume-once/nestjs'

@Controller()
class HealthController {
  @Inject(HealthCheckService) private readonly health!: HealthCheckService
  @Inject(ConsumeOnceConsumers) private readonly consumers!: ConsumeOnceConsumers

  @Get('readyz')
  @HealthCheck()
  ready() {
    return this.health.check([() => this.consumers.isReady('consumers')])
  }

  @Get('healthz')
  @HealthCheck()
  live() {
    return this.health.check([() => this.consumers.isLive('consumers')])
  }
}
// #endregion

const broker = new MemoryBroker()

@Injectable()
class SmsHandler {
  @HandleOnce({ name: 'sms', id: messageId.header('id'), startWith: { topic: 'sms', group: 'sms' } })
  send(): void {}
}

@Module({
  imports: [
    TerminusModule.forRoot({ logger: false }),
    ConsumeOnceModule.forRoot({
      defaults: { store: memoryStore() },
      start: (consumer, from: RunMemoryOptions) => runMemory(broker, consumer, from),
      waitForReady: true,
    }),
  ],
  controllers: [HealthController],
  providers: [SmsHandler],
})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: false })
await app.listen(0, '127.0.0.1')
const url = await app.getUrl()
const probe = async (path: string) => (await fetch(`${url}/${path}`)).status
const consumer = app.get(ConsumeOnceConsumers).running.get('sms')

const before = [await probe('readyz'), await probe('healthz')]
consumer?.pause({ by: 'kim', reason: 'the provider is being mended' })
const paused = [await probe('readyz'), await probe('healthz')]
consumer?.resume({ by: 'kim' })
const after = [await probe('readyz'), await probe('healthz')]
await app.close()
console.log({ before, paused, after })
assert.deepEqual(
  [before, paused, after],
  [
    [200, 200],
    [503, 200],
    [200, 200],
  ],
)
