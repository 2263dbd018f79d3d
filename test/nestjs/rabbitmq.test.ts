import { RabbitMQModule, RabbitPayload, RabbitSubscribe, AmqpConnection } from '@golevelup/nestjs-rabbitmq'
import { afterEach, describe, expect, it } from '@jest/globals'
import { Controller, Injectable, Module, type INestApplicationContext } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { EventPattern, Payload, Transport, type MicroserviceOptions, MessagePattern } from '@nestjs/microservices'
import {
  confirmedPublisher,
  eachDelivery,
  type ConfirmedPublisher,
  type OnMessageOptions,
} from '../../adapters/amqplib/index.ts'
import {
  ConsumeOnceConsumers,
  ConsumeOnceModule,
  OnceContext,
  OncePerMessage,
  type OncePerMessageOptions,
} from '../../adapters/nestjs/index.ts'
import { messageId, TerminalError, type Consumer, type HandlerContext, type Store } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { eventually } from '../kit/eventually.ts'
import { decorate } from './decorate.ts'
import { beforeAllOpen, openedOnce } from '../kit/opened.ts'
import { gate } from '../kit/rig.ts'
import { storeWith } from '../kit/store-with.ts'
import { Rabbit } from '../rabbitmq/rabbit.ts'

interface Sms {
  readonly id: string
}
type Handle = (sms: Sms, context: HandlerContext<unknown>) => unknown

let rabbit: Rabbit
let publisher: ConfirmedPublisher
openedOnce(Rabbit, (made) => (rabbit = made))
beforeAllOpen((own) => (publisher = own(confirmedPublisher(rabbit.url))))

interface App {
  readonly consumers: ConsumeOnceConsumers
  /** As a signal ends it. */
  close(): Promise<void>
}

const apps: App[] = []
afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()))
})

interface Settings extends Pick<OnMessageOptions, 'deadLetter'> {
  readonly store?: Store
  /** @defaultValue EventPattern */
  readonly pattern?: (of: string) => MethodDecorator
  readonly own?: Partial<OncePerMessageOptions>
}

/** An application with a method on a queue, on a transport. */
type Start = (queue: string, handle: Handle, settings?: Settings) => Promise<App>

function moduleFor(
  queue: string,
  { store = memoryStore(), deadLetter }: Settings,
): ReturnType<typeof ConsumeOnceModule.forRoot> {
  return ConsumeOnceModule.forRoot({
    defaults: { store, id: messageId.property(), backoff: { initialMs: 5, maxMs: 20 }, graceMs: 200 },
    take: (consumer: Consumer) => eachDelivery(consumer, { queue, ...(deadLetter !== undefined && { deadLetter }) }),
    deadlineMs: 1_000,
  })
}

class Sender {
  handle: Handle = () => {}
  send(sms: Sms, context: HandlerContext<unknown>): unknown {
    return this.handle(sms, context)
  }
}

function started(app: INestApplicationContext): App {
  const consumers = app.get(ConsumeOnceConsumers)
  const close = async (): Promise<void> => {
    await consumers.stop()
    await app.close()
  }
  apps.push({ consumers, close })
  return { consumers, close }
}

const onNest: Start = async (queue, handle, settings = {}) => {
  class SmsController extends Sender {
    override handle = handle
    override send(sms: Sms, context: HandlerContext<unknown>): unknown {
      return super.send(sms, context)
    }
  }
  Controller()(SmsController)
  decorate(
    SmsController.prototype,
    'send',
    [(settings.pattern ?? EventPattern)('sms'), OncePerMessage({ name: 'sms', ...settings.own })],
    [Payload(), OnceContext()],
  )
  class Root {
    readonly name = 'the microservice'
  }
  Module({ imports: [moduleFor(queue, settings)], controllers: [SmsController] })(Root)
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(Root, {
    logger: false,
    abortOnError: false,
    transport: Transport.RMQ,
    options: { urls: [rabbit.url], queue, noAck: false, prefetchCount: 10, noAssert: true },
  })
  await app.listen()
  return started(app)
}

const onGolevelup: Start = async (queue, handle, settings = {}) => {
  class SmsService extends Sender {
    override handle = handle
    override send(sms: Sms, context: HandlerContext<unknown>): unknown {
      return super.send(sms, context)
    }
  }
  Injectable()(SmsService)
  const subscribed = RabbitSubscribe({ queue, createQueueIfNotExists: false })
  decorate(
    SmsService.prototype,
    'send',
    [subscribed, OncePerMessage({ name: 'sms' })],
    [RabbitPayload('data'), OnceContext()],
  )
  class Root {
    readonly name = 'the application'
  }
  const rabbitMq = RabbitMQModule.forRoot({ uri: rabbit.url, enableDirectReplyTo: false })
  Module({ imports: [moduleFor(queue, settings), rabbitMq], providers: [SmsService] })(Root)
  const app = await NestFactory.createApplicationContext(Root, { logger: false, abortOnError: false })
  const own = started(app)
  await eventually(() => app.get(AmqpConnection).consumerTags.length > 0)
  return own
}

function refuses(): never {
  throw new TerminalError('no such number')
}

/** As Nest's ClientProxy publishes an event. */
async function publish(queue: string, ...ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    await publisher.publish({
      routingKey: queue,
      messageId: id,
      body: JSON.stringify({ pattern: 'sms', data: { id } }),
    })
  }
}

/** All are settled: none is ready, and none comes back when nobody consumes any more. */
async function left(queue: string, app: App): Promise<number> {
  await eventually(async () => (await rabbit.ready(queue)) === 0)
  await app.close()
  await rabbit.untilUnread(queue)
  return (await rabbit.takeLeft(queue)).length
}

describe.each([
  ["Nest's RabbitMQ transport", onNest],
  ['@RabbitSubscribe of golevelup', onGolevelup],
])('a method with @OncePerMessage on %s', (_, start) => {
  it('runs once for each message, gets the context of a handler, and a duplicate is acked without a run', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue)
    const runs: string[] = []
    const app = await start(queue, ({ id }, { idempotencyKey, attempt }) => {
      runs.push(`${id} ${idempotencyKey.length} ${attempt}`)
    })
    await publish(queue, '1', '1', '2')
    await eventually(() => runs.length === 2)
    expect(app.consumers.isReady('consumers').consumers.status).toBe('up')
    expect(await left(queue, app)).toBe(0)
    expect(runs.toSorted()).toEqual(['1 43 1', '2 43 1'])
  })

  it('acks a message when its mark is durable, and not before', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue)
    const marking = gate()
    let asked = 0
    const store = storeWith((memory) => ({
      mark: async (...given) => {
        if (asked++ === 0) await marking.opened
        return memory.mark(...given)
      },
    }))
    const app = await start(queue, () => {}, { store })
    await publish(queue, '1')
    await eventually(() => asked > 0)
    const closing = app.close()
    await closing
    await rabbit.untilUnread(queue)
    expect((await rabbit.takeLeft(queue)).map(({ redelivered }) => redelivered)).toEqual([true])
    marking.open()
  })

  it('runs a failed message again, and acks it when it succeeds', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue)
    const runs: number[] = []
    const app = await start(queue, async (_sms, { attempt }) => {
      runs.push(attempt)
      if (attempt < 3) throw new TypeError('a mistake')
    })
    await publish(queue, '1')
    await eventually(() => runs.length === 3)
    expect(await left(queue, app)).toBe(0)
    expect(runs).toEqual([1, 2, 3])
  })

  it('joins a concurrent duplicate to the running handler', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue)
    const handling = gate()
    let runs = 0
    const app = await start(queue, async () => {
      runs++
      await handling.opened
    })
    await publish(queue, '1', '1')
    await eventually(async () => runs === 1 && (await rabbit.ready(queue)) === 0)
    handling.open()
    expect(await left(queue, app)).toBe(0)
    expect(runs).toBe(1)
  })

  it('publishes a dead letter, and acks the message after the confirm', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue)
    await rabbit.declare(`${queue}.dead-letter`)
    const app = await start(queue, refuses, { deadLetter: { publisher, queue: `${queue}.dead-letter` } })
    await publish(queue, '1')
    const dead = await rabbit.take(`${queue}.dead-letter`)
    expect(dead.properties.headers).toMatchObject({ 'consume-once-reason': 'handler-failed' })
    expect(await left(queue, app)).toBe(0)
  })

  it("rejects a message to the queue's own dead-letter exchange", async () => {
    const queue = rabbit.name()
    const deadQueue = `${queue}.dead-letter`
    await rabbit.declare(deadQueue)
    const toDead = { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': deadQueue }
    await rabbit.declare(queue, { 'x-queue-type': 'quorum', ...toDead })
    await start(queue, refuses, { deadLetter: 'reject' })
    await publish(queue, '1')
    expect((await rabbit.take(deadQueue)).properties.messageId).toBe('1')
  })
})

/** As `onNest`, for requests. */
function answering(queue: string, handle: Handle, settings: Settings): Promise<App> {
  return onNest(queue, handle, { ...settings, pattern: (of) => MessagePattern(of) })
}

function refusesOne({ id }: Sms): unknown {
  return id === 'refused' ? refuses() : { sent: id }
}

describe("a request on Nest's RabbitMQ transport", () => {
  interface Answer {
    readonly response?: unknown
    readonly err?: unknown
  }

  /** Sends each request, with an ID, and resolves with the answers in their order. */
  async function answers(queue: string, ids: readonly string[]): Promise<readonly Answer[]> {
    const replies = rabbit.name()
    await rabbit.declare(replies)
    const found: Answer[] = []
    for (const id of ids) {
      const body = JSON.stringify({ pattern: 'sms', data: { id }, id })
      const properties = { replyTo: replies, correlationId: id }
      await publisher.publish({ routingKey: queue, messageId: id, body, properties })
      const { response, err } = JSON.parse((await rabbit.take(replies)).body) as Answer
      found.push(response === undefined ? { err } : { response })
    }
    return found
  }

  it('is answered with what the method returns, and its duplicate too, with rememberResult', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue)
    let runs = 0
    const handle: Handle = ({ id }) => ({ sent: id, run: ++runs })
    const app = await answering(queue, handle, { own: { rememberResult: true } })
    const sent = { response: { sent: '1', run: 1 } }
    expect(await answers(queue, ['1', '1'])).toEqual([sent, sent])
    expect(await left(queue, app)).toBe(0)
  })

  it('that cannot be handled is answered with an error, and a duplicate without rememberResult with nothing', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue)
    await rabbit.declare(`${queue}.dead-letter`)
    const app = await answering(queue, refusesOne, { deadLetter: { publisher, queue: `${queue}.dead-letter` } })
    const [refused, first, again] = await answers(queue, ['refused', '1', '1'])
    expect(refused).toEqual({ err: expect.anything() })
    expect([first, again]).toEqual([{ response: { sent: '1' } }, { err: undefined }])
    expect(await left(queue, app)).toBe(0)
  })
})
