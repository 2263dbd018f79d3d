import { describe, expect, it } from '@jest/globals'
import { runKafka } from '../../adapters/kafkajs/index.ts'
import { runRabbit } from '../../adapters/amqplib/index.ts'
import {
  adminOf,
  defineConsumer,
  messageId,
  type Consumer,
  type ConsumerSettings,
  type Running,
  type Store,
} from '../../src/index.ts'
import { Cluster, FAST } from '../kafka/kit.ts'
import { backends } from '../kit/backends.ts'
import { uniqueName } from '../kit/namespace.ts'
import { Watching } from '../kit/recording-intake.ts'
import { server } from '../kit/servers/server.ts'
import { newMysqlPlace } from '../mysql/support.ts'
import { newPlace } from '../pg/support.ts'
import { Rabbit } from '../rabbitmq/rabbit.ts'
import { redisHarness } from '../redis/harness.ts'
import { closedAfterEach } from '../kit/after-each.ts'

/** A broker with a topic or queue of the test, and what its consumer left there. */
interface Place {
  readonly group: string
  readonly origin: string
  readonly send: (...ids: readonly string[]) => Promise<void>
  readonly run: (consumer: Consumer) => Promise<Running>
  /** So many messages are settled, and none waits. */
  readonly untilSettled: (messages: number) => Promise<void>
}

const closing = closedAfterEach()

async function kafka(): Promise<Place> {
  const cluster = await Cluster.open()
  closing.push(() => cluster[Symbol.asyncDispose]())
  const [topic, group] = [await cluster.topic(), uniqueName('group')]
  return {
    group,
    origin: topic,
    send: (...ids) =>
      cluster.send(
        topic,
        ids.map((id) => ({ value: '{}', headers: { id } })),
      ),
    run: (consumer) => runKafka(cluster.client(), consumer, { ...FAST, topics: [topic], group }),
    untilSettled: (messages) => cluster.untilCommitted(group, topic, [messages]),
  }
}

async function rabbitmq(): Promise<Place> {
  const rabbit = await Rabbit.open()
  closing.push(() => rabbit[Symbol.asyncDispose]())
  const queue = rabbit.name()
  await rabbit.declare(queue)
  return {
    group: queue,
    origin: queue,
    send: async (...ids) => {
      for (const id of ids) await rabbit.send(queue, ['{}'], { headersOf: () => ({ id }) })
    },
    run: (consumer) => runRabbit(rabbit.url, consumer, { queue }),
    untilSettled: async () => {
      await rabbit.untilUnread(queue)
      expect(await rabbit.takeLeft(queue)).toEqual([])
    },
  }
}

interface Database {
  readonly store: Store<unknown>
  /** The store has a transaction to write in. */
  readonly writes: boolean
  readonly write: (tx: never, effect: string) => Promise<unknown>
  readonly committed: (effect: string) => Promise<number>
}

const CASES = [
  [
    'kafka',
    'postgres',
    'postgresInbox',
    kafka,
    async (): Promise<Database> => {
      const place = await newPlace()
      closing.push(place.close)
      return { write: place.write, committed: place.committed, writes: true, store: await place.newInbox() }
    },
  ],
  [
    'kafka',
    'mariadb',
    'mysqlInbox',
    kafka,
    async (): Promise<Database> => {
      const place = await newMysqlPlace()
      closing.push(place.close)
      return { write: place.write, committed: place.committed, writes: true, store: await place.newInbox() }
    },
  ],
  [
    'rabbitmq',
    'redis',
    'redisLease',
    rabbitmq,
    async (): Promise<Database> => {
      const harness = await redisHarness((await server('redis')).url)
      closing.push(harness.close)
      return { writes: false, write: async () => {}, committed: async () => 0, store: harness.store }
    },
  ],
] as const

for (const [broker, backend, name, openBroker, openStore] of CASES) {
  const describeOn = backends.has(broker) && backends.has(backend) ? describe : describe.skip
  describeOn(`a handler that returns ctx.skip, on ${broker} with ${name}`, () => {
    it('is marked and settled as skipped, keeps what it wrote, and its duplicates are duplicates', async () => {
      const database = await openStore()
      const place = await openBroker()
      const watching = new Watching()
      const runs: string[] = []
      const settings: Pick<ConsumerSettings<unknown, unknown, never>, 'name' | 'id' | 'store' | 'observe'> = {
        name: 'orders',
        id: messageId.header('id'),
        store: database.store as Store,
        observe: watching.observe,
      }
      const consumer = defineConsumer({
        ...settings,
        handle: async (context) => {
          const id = String(context.message.headers['id'])
          runs.push(id)
          await database.write((context as unknown as { readonly tx: never }).tx, id)
          return id === 'late' ? context.skip('late created') : undefined
        },
      })
      const running = await place.run(consumer)
      closing.push(() => running.stop())
      await place.send('paid', 'late')
      await watching.until(() => watching.ended('handled') + watching.ended('skipped') === 2)
      await place.send('late', 'paid')
      await watching.untilOutcomes('duplicate', 2)
      expect(watching.outcomes()).toEqual({ handled: 1, skipped: 1, duplicate: 2 })
      expect(watching.events).toContainEqual(
        expect.objectContaining({ type: 'delivery', outcome: 'skipped', detail: 'late created' }),
      )
      expect(runs.toSorted()).toEqual(['late', 'paid'])
      expect(await database.committed('late')).toBe(database.writes ? 1 : 0)
      await running.stop()
      await place.untilSettled(4)
      const admin = adminOf(consumer, { group: place.group, origins: [place.origin] })
      expect(await admin.inspect(['late'])).toMatchObject([{ state: 'done' }])
    }, 120_000)
  })
}
