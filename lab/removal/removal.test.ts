// docs/upgrade.md, "Remove": a consumer of one's own gets what was not settled, and nothing of the library stays.
import { execFileSync } from 'node:child_process'
import { expect, it, jest } from '@jest/globals'
import { Redis } from 'ioredis'
import { runRabbit } from '../../adapters/amqplib/index.ts'
import { runKafka } from '../../adapters/kafkajs/index.ts'
import { postgresInbox } from '../../adapters/pg/index.ts'
import { redisLease } from '../../adapters/redis/index.ts'
import { defineConsumer, messageId } from '../../src/index.ts'
import { Cluster, FAST } from '../../test/kafka/kit.ts'
import { eventually } from '../../test/kit/eventually.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { beforeEachOpen } from '../../test/kit/opened.ts'
import { startPrivateRedis, type PrivateRedis } from '../../test/kit/servers/private-redis.ts'
import { newPlace, type PgPlace } from '../../test/pg/support.ts'
import { Rabbit } from '../../test/rabbitmq/rabbit.ts'
import { typedFor } from './typed-for.ts'

jest.setTimeout(180_000)

const IDS = ['m-0', 'm-1', 'm-2', 'm-3', 'm-4', 'm-5']
/** Its handler waits until it is aborted: it is not settled. */
const STUCK = 'm-4'

async function abortedIfStuck(id: string, signal: AbortSignal): Promise<void> {
  if (id === STUCK) await new Promise<void>((_, fail) => signal.addEventListener('abort', () => fail(signal.reason)))
}

it('the way out with RabbitMQ and Redis', async () => {
  const rabbit = await Rabbit.open()
  const own: PrivateRedis = await startPrivateRedis()
  const redis = new Redis(own.url)
  try {
    await redis.set('yours', '1')
    const queue = rabbit.name()
    await rabbit.declare(queue)
    await rabbit.send(queue, IDS)
    const handled: string[] = []
    const sms = defineConsumer({
      name: 'sms-sender',
      id: messageId.property(),
      decode: String,
      store: redisLease({ redis }),
      handle: async ({ message, signal }) => {
        const id = message.messageId ?? ''
        await abortedIfStuck(id, signal)
        handled.push(id)
      },
    })
    const running = await runRabbit(rabbit.url, sms, { queue })
    await eventually(() => handled.length === IDS.length - 1)
    await running.stop({ deadlineMs: 500 })

    const left = await rabbit.takeLeft(queue)
    expect(left.map(({ properties }) => properties.messageId as string)).toEqual([STUCK])

    expect((await redis.keys('*')).length).toBeGreaterThan(IDS.length)
    // The second time nothing is left to remove.
    for (let time = 0; time < 2; time++) {
      execFileSync('bash', ['-o', 'pipefail', '-c', typedFor('Redis')], { env: { ...process.env, REDIS_URL: own.url } })
      expect(await redis.keys('*')).toEqual(['yours'])
    }
  } finally {
    redis.disconnect()
    await own.stop()
    await rabbit[Symbol.asyncDispose]()
  }
})

let place: PgPlace
let cluster: Cluster
beforeEachOpen(async (own) => {
  place = own(await newPlace())
  cluster = own(await Cluster.open())
})

it('the way out with Kafka and Postgres', async () => {
  const schema = uniqueName('removed')
  const group = uniqueName('group')
  const topic = await cluster.topic()
  await cluster.send(
    topic,
    IDS.map((id) => ({ key: 'k', value: id, headers: { id } })),
  )
  const handled: string[] = []
  const payments = defineConsumer({
    name: 'charge-account',
    id: messageId.header('id'),
    decode: String,
    store: postgresInbox({ pool: place.newPool(), schema }),
    batchSize: 1,
    handle: async ({ payload, signal }) => {
      await abortedIfStuck(payload, signal)
      handled.push(payload)
    },
  })
  const running = await runKafka(cluster.client(), payments, { ...FAST, topics: [topic], group })
  const before = IDS.slice(0, IDS.indexOf(STUCK))
  try {
    await eventually(() => handled.length === before.length)
    await cluster.untilCommitted(group, topic, [before.length])
  } finally {
    await running.stop({ deadlineMs: 500 })
  }

  const yours: string[] = []
  const consumer = cluster.client().consumer({ groupId: group })
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  await consumer.run({ eachMessage: async ({ message }) => void yours.push(String(message.value)) })
  await eventually(() => yours.length >= IDS.length - before.length, 60_000)
  await consumer.disconnect()
  expect(yours).toEqual(IDS.slice(before.length))

  const ofLibrary = 'select relname from pg_class where relnamespace = to_regnamespace($1)'
  expect((await place.pool.query(ofLibrary, [schema])).rowCount).toBeGreaterThan(0)
  await place.pool.query(typedFor('Postgres').replace('consume_once', schema))
  const left = `select nspname from pg_namespace where nspname = $1
    union all select proname from pg_proc where prosrc like '%' || $1 || '%'`
  expect((await place.pool.query(left, [schema])).rows).toEqual([])
})
