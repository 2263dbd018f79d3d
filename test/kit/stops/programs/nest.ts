// An application of Nest with a consumer for each place; its classes are made without the syntax of decorators.
import { Injectable, Module, type OnApplicationShutdown } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ConsumeOnceModule, HandleOnce } from '../../../../adapters/nestjs/index.ts'
import { type Running } from '../../../../src/index.ts'
import { memoryStore } from '../../../../src/memory/index.ts'
import { closeClients, start } from './life.ts'

/** The decorated methods say only how many consumers there are: the test has its own. */
class Handlers {
  first(): void {}
  second(): void {}
  third(): void {}
}
Injectable()(Handlers)

let started: readonly Running[] | undefined
let given = 0
const take = (): Running => {
  started ??= start()
  const running = started[given++]
  if (running === undefined) throw new Error('expected as many consumers as handlers')
  return running
}

const { places } = JSON.parse(process.env['STOP_SPEC'] ?? '') as { readonly places: readonly string[] }
for (const [at, name] of (['first', 'second', 'third'] as const).entries()) {
  if (at >= places.length) continue
  const descriptor = Object.getOwnPropertyDescriptor(Handlers.prototype, name) as PropertyDescriptor
  HandleOnce({ name, store: memoryStore(), startWith: {} })(Handlers.prototype, name, descriptor)
}

class Clients implements OnApplicationShutdown {
  onApplicationShutdown(): Promise<void> {
    return closeClients()
  }
}
Injectable()(Clients)

class Root {
  readonly name = 'the application'
}
const consumeOnce = ConsumeOnceModule.forRootAsync({
  useFactory: () => ({ start: take, waitForReady: true, deadlineMs: 20_000 }),
})
Module({ imports: [consumeOnce], providers: [Handlers, Clients] })(Root)

const app = await NestFactory.create(Root, { logger: ['error'] })
app.enableShutdownHooks() // Before `listen()`, which starts the consumers.
await app.listen(0, '127.0.0.1')
