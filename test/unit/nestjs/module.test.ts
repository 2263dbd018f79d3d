import { describe, expect, it } from '@jest/globals'
import { Inject, Injectable, Module, type DynamicModule } from '@nestjs/common'
import { NestFactory, type DiscoveryService } from '@nestjs/core'
import { messageId, type Consumer, type Running } from 'consume-once'
import { memoryStore, MemoryBroker, runMemory, type RunMemoryOptions } from 'consume-once/memory'
import { ConsumeOnceConsumers, ConsumeOnceModule, HandleOnce, type HandleOnceOptions } from 'consume-once/nestjs'
import { eventually } from '../../kit/eventually.ts'
import { gate } from '../../kit/rig.ts'
import { storeWith } from '../../kit/store-with.ts'

const BROKER = Symbol('broker')

class Outbox {
  readonly sent: string[] = []
}
Injectable()(Outbox)

interface App {
  readonly broker: MemoryBroker
  readonly outbox: Outbox
  readonly consumers: ConsumeOnceConsumers
  readonly close: () => Promise<void>
}

/** An application with one consumer; its classes are made without the syntax of decorators. */
async function newApp(options: Partial<HandleOnceOptions> = {}, times = 1): Promise<App> {
  const broker = new MemoryBroker()
  class Clients {
    readonly broker = broker
  }
  Module({ providers: [{ provide: BROKER, useValue: broker }], exports: [BROKER] })(Clients)
  class Sms {
    readonly outbox: Outbox
    constructor(outbox: Outbox) {
      this.outbox = outbox
    }

    async send({ payload }: { readonly payload: { readonly to: string } }): Promise<void> {
      this.outbox.sent.push(payload.to)
    }
  }
  Inject(Outbox)(Sms, undefined, 0)
  Injectable()(Sms)
  const descriptor = Object.getOwnPropertyDescriptor(Sms.prototype, 'send') as PropertyDescriptor
  for (let time = 0; time < times; time++) {
    HandleOnce({ name: 'sms', startWith: { topic: 'sms', group: 'g' }, ...options })(Sms.prototype, 'send', descriptor)
  }
  const consumeOnce: DynamicModule = ConsumeOnceModule.forRootAsync({
    imports: [Clients],
    inject: [BROKER],
    useFactory: (given: MemoryBroker) => ({
      defaults: { store: memoryStore(), id: messageId.header('id') },
      start: (consumer: Consumer, from: RunMemoryOptions) => runMemory(given, consumer, from),
      waitForReady: true,
    }),
  })
  class Root {
    readonly broker = broker
  }
  Module({ imports: [consumeOnce], providers: [Outbox, Sms] })(Root)
  const app = await NestFactory.createApplicationContext(Root, { logger: false, abortOnError: false })
  return {
    broker,
    outbox: app.get(Outbox),
    consumers: app.get(ConsumeOnceConsumers),
    close: () => app.close(),
  }
}

function startOwn(consumer: Consumer, from: RunMemoryOptions): Running {
  return runMemory(new MemoryBroker(), consumer, from)
}

function startLater(): never {
  return Promise.reject(new Error('nobody waits for this')) as never
}

/** The provider of an application with one consumer, whose store opens by `open`. */
function consumersOn(open: () => Promise<void>, start: typeof startOwn = startOwn): ConsumeOnceConsumers {
  class Sms {
    send(): void {}
  }
  const descriptor = Object.getOwnPropertyDescriptor(Sms.prototype, 'send') as PropertyDescriptor
  const store = storeWith(() => ({ open }))
  HandleOnce({ name: 'sms', store, startWith: { topic: 'sms', group: 'g' } })(Sms.prototype, 'send', descriptor)
  const discovery = {
    getProviders: () => [{ instance: new Sms() }],
    getControllers: () => [],
  } as unknown as DiscoveryService
  return new ConsumeOnceConsumers({ start, waitForReady: true }, discovery)
}

const SMS = { headers: { id: 'sms-1' }, value: Buffer.from('{"to":"+49151"}') }

describe('the module for NestJS', () => {
  it('runs a decorated method of a provider as a handler, each message once', async () => {
    const { broker, outbox, consumers, close } = await newApp()
    broker.publish('sms', SMS)
    broker.publish('sms', SMS)
    broker.publish('sms', { ...SMS, headers: { id: 'sms-2' } })
    await eventually(async () => outbox.sent.length === 2)
    expect([...consumers.running.keys()]).toEqual(['sms'])
    await close()
    expect(outbox.sent).toEqual(['+49151', '+49151'])
  })

  it('refuses a promise of a consumer, and handles its rejection', async () => {
    const consumers = consumersOn(async () => {}, startLater)
    await expect((async () => consumers.onApplicationBootstrap())()).rejects.toThrow(
      'start: expected an answer at once, got a promise: return the running consumer itself',
    )
  })

  it('says to Terminus whether it is ready and live, and stops with the application', async () => {
    const { consumers, close } = await newApp()
    expect(consumers.isReady('consumers')).toMatchObject({
      consumers: { status: 'up', consumers: { sms: { ready: true } } },
    })
    expect(consumers.isLive('consumers')).toMatchObject({ consumers: { status: 'up' } })
    await close()
    expect(consumers.isReady('consumers')).toMatchObject({ consumers: { status: 'down' } })
    expect(consumers.running.get('sms')?.state).toBe('stopped')
  })

  it('starts no consumer after the application was destroyed, as by a signal before its start', async () => {
    const consumers = consumersOn(async () => {})
    await consumers.onModuleDestroy()
    await consumers.onApplicationBootstrap()
    expect(consumers.running.size).toBe(0)
  })

  it('takes a stop while it waits for its consumers as no failure of the start', async () => {
    const opening = gate()
    const consumers = consumersOn(() => opening.opened)
    const starting = consumers.onApplicationBootstrap()
    const stopping = consumers.onModuleDestroy()
    await starting
    opening.open()
    await stopping
    expect(consumers.running.get('sms')?.state).toBe('stopped')
  })

  it('does not start with options that cannot be meant, or with two handlers of one name', async () => {
    await expect(newApp({ concurrency: 0 })).rejects.toThrow(/concurrency: expected/)
    await expect(newApp({}, 2)).rejects.toThrow(/one handler with the name 'sms', got two/)
  })
})
