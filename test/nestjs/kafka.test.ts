import { afterEach, describe, expect, it } from '@jest/globals'
import { Catch, Controller, Module, type DynamicModule, type INestMicroservice } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { EventPattern, MessagePattern, Payload, Transport, type MicroserviceOptions } from '@nestjs/microservices'
import { of } from 'rxjs'
import { eachMessage, type EachMessage } from '../../adapters/kafkajs/index.ts'
import {
  ConsumeOnceConsumers,
  ConsumeOnceModule,
  OnceContext,
  OncePerMessage,
  type OncePerMessageOptions,
} from '../../adapters/nestjs/index.ts'
import { messageId, type Consumer, type HandlerContext, type Store } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { eventually } from '../kit/eventually.ts'
import { uniqueName } from '../kit/namespace.ts'
import { decorate } from './decorate.ts'
import { openedOnce } from '../kit/opened.ts'
import { gate } from '../kit/rig.ts'
import { storeWith } from '../kit/store-with.ts'
import { Cluster } from '../kafka/kit.ts'

interface Sms {
  readonly id: string
}
type Handle = (sms: Sms, context: HandlerContext<unknown>) => unknown

let cluster: Cluster
openedOnce(Cluster, (made) => (cluster = made))

const apps: INestMicroservice[] = []
afterEach(async () => {
  await Promise.all(apps.splice(0).map(close))
})

interface Settings {
  readonly store?: Store
  readonly pattern?: (topic: string) => MethodDecorator
  readonly options?: Partial<OncePerMessageOptions>
  /** Around what takes each message. */
  readonly around?: (taking: EachMessage) => EachMessage
  readonly concurrently?: number
  /** Catches every exception and returns as if all were well. */
  readonly swallows?: boolean
}

interface App {
  readonly consumers: ConsumeOnceConsumers
  readonly app: INestMicroservice
  readonly groupId: string
}

/** A microservice of Nest with one controller on a topic. */
async function start(topic: string, handle: Handle, settings: Settings = {}): Promise<App> {
  const groupId = uniqueName('nest')
  const { store = memoryStore(), pattern = (of_) => EventPattern(of_), around = (taking) => taking } = settings
  class SmsController {
    send(sms: Sms, context: HandlerContext<unknown>): unknown {
      return handle(sms, context)
    }
  }
  Controller()(SmsController)
  const once = OncePerMessage({
    name: 'sms',
    id: messageId.header('id'),
    backoff: { initialMs: 5, maxMs: 20 },
    graceMs: 200,
    ...settings.options,
  })
  decorate(SmsController.prototype, 'send', [pattern(topic), once], [Payload(), OnceContext()])
  const consumeOnce: DynamicModule = ConsumeOnceModule.forRoot({
    defaults: { store },
    take: (consumer: Consumer) => around(eachMessage(consumer, { group: groupId, heartbeatEveryMs: 100 })),
    deadlineMs: 1_000,
  })
  class Root {
    readonly name = 'the microservice'
  }
  Module({ imports: [consumeOnce], controllers: [SmsController] })(Root)
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(Root, {
    logger: false,
    abortOnError: false,
    transport: Transport.KAFKA,
    options: {
      postfixId: '',
      client: { brokers: cluster.brokers, retry: { initialRetryTime: 50, retries: 5 } },
      consumer: { groupId, sessionTimeout: 6_000, heartbeatInterval: 150, maxWaitTimeInMs: 100 },
      subscribe: { fromBeginning: true },
      run: { partitionsConsumedConcurrently: settings.concurrently ?? 1 },
    },
  })
  if (settings.swallows) app.useGlobalFilters(new Swallows())
  apps.push(app)
  await app.listen()
  return { consumers: app.get(ConsumeOnceConsumers), app, groupId }
}

async function close(app: INestMicroservice): Promise<void> {
  await app.get(ConsumeOnceConsumers).stop()
  await app.close()
}

class Swallows {
  catch(): unknown {
    return of(undefined)
  }
}
Catch()(Swallows)

const sms = (id: string): { value: string; headers: { id: string } } => ({
  value: JSON.stringify({ id }),
  headers: { id },
})

/** Refuses the first message it gets, once. */
function refusingFirst(taking: EachMessage): EachMessage {
  let isFirst = true
  const take: EachMessage = Object.assign(
    async (...given: Parameters<EachMessage>) => {
      if (!isFirst) return taking(...given)
      isFirst = false
      throw new Error('not now')
    },
    { stop: taking.stop, health: taking.health, [Symbol.asyncDispose]: () => taking.stop() },
  )
  return take
}

describe("a method with @OncePerMessage on Nest's Kafka transport", () => {
  it('runs once for each message, gets the context of a handler, and a duplicate is committed without a run', async () => {
    const topic = await cluster.topic()
    const runs: string[] = []
    const { groupId, consumers } = await start(topic, ({ id }, { idempotencyKey, attempt }) => {
      runs.push(`${id} ${idempotencyKey.length} ${attempt}`)
    })
    await cluster.send(topic, [sms('1'), sms('1'), sms('2')])
    await cluster.untilCommitted(groupId, topic, [3])
    expect(runs).toEqual(['1 43 1', '2 43 1'])
    expect(consumers.isReady('consumers').consumers).toMatchObject({
      status: 'up',
      consumers: { sms: { ready: true } },
    })
  })

  it('commits a message when its mark is durable, and not before', async () => {
    const topic = await cluster.topic()
    const marking = gate()
    let asked = 0
    const store = storeWith((memory) => ({
      mark: async (...given) => {
        if (asked++ === 0) await marking.opened
        return memory.mark(...given)
      },
    }))
    const { groupId } = await start(topic, () => {}, { store })
    await cluster.send(topic, [sms('1')])
    await eventually(() => asked > 0)
    expect(await cluster.committed(groupId, topic)).toEqual([-1])
    marking.open()
    await cluster.untilCommitted(groupId, topic, [1])
  })

  it('runs a failed message again before the next, and commits neither until then', async () => {
    const topic = await cluster.topic()
    const runs: string[] = []
    const { groupId } = await start(topic, async ({ id }, { attempt }) => {
      runs.push(`${id} ${attempt}`)
      if (id === '1' && attempt < 3) throw new TypeError('a mistake')
    })
    await cluster.send(topic, [sms('1'), sms('2')])
    await cluster.untilCommitted(groupId, topic, [2])
    expect(runs).toEqual(['1 1', '1 2', '1 3', '2 1'])
  })

  it('joins a concurrent duplicate of another partition to the running handler', async () => {
    const topic = await cluster.topic(2)
    const handling = gate()
    let runs = 0
    let taken = 0
    const around = (taking: EachMessage): EachMessage =>
      Object.assign(
        (...given: Parameters<EachMessage>) => {
          taken++
          return taking(...given)
        },
        { stop: taking.stop, health: taking.health, [Symbol.asyncDispose]: () => taking.stop() },
      )
    const handle = async (): Promise<void> => {
      runs++
      await handling.opened
    }
    // In one fetch: kafkajs does not fetch from a broker while messages of it are under way.
    await cluster.send(topic, [sms('1')], 0)
    await cluster.send(topic, [sms('1')], 1)
    const { groupId } = await start(topic, handle, { around, concurrently: 2 })
    await eventually(() => taken === 2)
    expect(await cluster.committed(groupId, topic)).toEqual([-1, -1])
    handling.open()
    await cluster.untilCommitted(groupId, topic, [1, 1])
    expect(runs).toBe(1)
  })

  it('fetches a refused message again, also where an exception filter swallows what was thrown', async () => {
    const topic = await cluster.topic()
    const runs: string[] = []
    await cluster.send(topic, [sms('1'), sms('2')])
    const { groupId } = await start(topic, ({ id }) => runs.push(id), { around: refusingFirst, swallows: true })
    await cluster.untilCommitted(groupId, topic, [2])
    expect(runs).toEqual(['1', '2'])
  })

  it('fetches a refused request again, and answers a request with what the method returns', async () => {
    const [topic, replies] = [await cluster.topic(), await cluster.topic()]
    const runs: string[] = []
    const handle: Handle = ({ id }) => {
      runs.push(id)
      return { sent: id }
    }
    const request = (id: string): ReturnType<typeof sms> => {
      const headers = { id, kafka_correlationId: id, kafka_replyTopic: replies }
      return { ...sms(id), headers }
    }
    await cluster.send(topic, [request('1'), request('2'), request('2')])
    const { groupId } = await start(topic, handle, {
      around: refusingFirst,
      pattern: (of_) => MessagePattern(of_),
      options: { rememberResult: true },
    })
    await cluster.untilCommitted(groupId, topic, [3])
    expect(runs).toEqual(['1', '2'])
    const answers = await cluster.read(replies, 3)
    // Nest sends answers after it has returned to kafkajs, in any order.
    const texts = answers.map(({ value }) => String(value)).toSorted()
    expect(texts).toEqual(['{"sent":"1"}', '{"sent":"2"}', '{"sent":"2"}'])
  })

  it('stops with the application: what came after the stop stays uncommitted for the next member', async () => {
    const topic = await cluster.topic()
    const runs: string[] = []
    const handling = gate()
    const { groupId, app, consumers } = await start(topic, async ({ id }) => {
      runs.push(id)
      await handling.opened
    })
    await cluster.send(topic, [sms('1'), sms('2')])
    await eventually(() => runs.length === 1)
    const stopping = consumers.onModuleDestroy()
    handling.open()
    await stopping
    await close(app)
    expect(runs).toEqual(['1'])
    expect(await cluster.committed(groupId, topic)).toEqual([1])
  })
})
