import { describe, expect, it } from '@jest/globals'
import { Kafka, logLevel } from 'kafkajs'
import { confirmedPublisher } from '../../adapters/kafkajs/index.ts'
import { postgresInbox, postgresOutbox, type PostgresOutbox } from '../../adapters/pg/index.ts'
import { once } from '../../src/index.ts'
import { backends } from '../../test/kit/backends.ts'
import { eventually } from '../../test/kit/eventually.ts'
import { openedForEach } from '../../test/kit/opened.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import type { PrivateKafka } from '../../test/kit/servers/private-kafka.ts'
import type { Cluster } from '../../test/kafka/kit.ts'
import { newPlace, type PgPlace } from '../../test/pg/support.ts'
import { ownCluster } from '../kafka/own-cluster.ts'

/** Alone the second test takes 70 s: after an outage of all brokers kafkajs asks for its metadata again at growing intervals, up to 30 s. */
const WITHIN_MS = 240_000

let kafka: PrivateKafka
let cluster: Cluster

ownCluster((made, brokers) => ([cluster, kafka] = [made, brokers]))

const topicOn = async (...brokers: readonly number[]): Promise<string> => {
  const topic = uniqueName('outbox')
  const replicaAssignment = brokers.map((broker, partition) => ({ partition, replicas: [broker] }))
  await cluster.admin.createTopics({ waitForLeaders: false, topics: [{ topic, replicaAssignment }] })
  await eventually(async () => (await cluster.admin.listTopics()).includes(topic))
  return topic
}
;(backends.has('postgres') ? describe : describe.skip)('the relay of an outbox beside Kafka', () => {
  let place: PgPlace
  openedForEach(newPlace, (made) => (place = made))

  /** How many messages of each topic were confirmed. */
  const confirmed = new Map<string, number>()
  const sizeOf = (topic: string): number => confirmed.get(topic) ?? 0

  const outboxOn = (events: string[]): PostgresOutbox => {
    const publisher = confirmedPublisher(new Kafka({ brokers: kafka.brokers, logLevel: logLevel.NOTHING }))
    const counted: typeof publisher.publish = async (message) => {
      await publisher.publish(message)
      confirmed.set(message.topic, sizeOf(message.topic) + 1)
    }
    const observe = ({ event }: { readonly event: string }): void => void events.push(event)
    // One attempt: what only broker or connection failed would be parked.
    const options = { publishers: { kafka: { publish: counted } }, maxAttempts: 1, observe }
    return postgresOutbox({ ...options, pool: place.newPool(), schema: place.schema })
  }
  it(
    'holds up the topic of a partition without a leader, and no other, and counts no attempt',
    async () => {
      const [topic, other] = [await topicOn(3), await topicOn(1)]
      const events: string[] = []
      const outbox = outboxOn(events)
      const store = postgresInbox({ pool: place.newPool(), schema: place.schema, outbox })
      const publish = (to: string, n: number): Promise<unknown> =>
        once(store, `${to} ${n}`, (context) => context.publish({ topic: to, key: `k${n}`, value: `${n}` }))
      await outbox.open()
      outbox.start()
      await Promise.all([publish(topic, 0), publish(other, 0)])
      await eventually(() => sizeOf(topic) + sizeOf(other) === 2)
      await kafka.nodes[2]?.kill()
      // All lanes have keys of the partition without a leader.
      for (let n = 0; n < 200; n += 20) {
        await Promise.all(Array.from({ length: 20 }, (_, at) => publish(topic, n + at + 1)))
      }
      const from = performance.now()
      for (let n = 1; n <= 100; n++) await publish(other, n)
      await eventually(() => sizeOf(other) === 101)
      expect(performance.now() - from).toBeLessThan(30_000)
      expect(events).not.toContain('parked')
      await kafka.nodes[2]?.restart()
      await eventually(async () => (await outbox.backlog()).length === 0, WITHIN_MS)
      expect(sizeOf(topic)).toBeGreaterThanOrEqual(201)
      expect(events).not.toContain('parked')
      await outbox.stop(1_000)
    },
    2 * WITHIN_MS,
  )

  it(
    'shows what waits while no broker answers, does the inbox no harm, and publishes all of it afterwards',
    async () => {
      const topic = await topicOn(1)
      const events: string[] = []
      const outbox = outboxOn(events)
      const store = postgresInbox({ pool: place.newPool(), schema: place.schema, outbox })
      const publish = (n: number): Promise<unknown> =>
        once(store, `order ${n}`, (context) => context.publish({ topic, key: `k${n % 40}`, value: `${n}` }))
      await outbox.open()
      outbox.start()
      await publish(0)
      await eventually(() => sizeOf(topic) === 1)
      await kafka.kill()
      for (let n = 1; n <= 600; n++) await publish(n)
      await eventually(() => events.includes('waits'))
      expect(await outbox.backlog()).toMatchObject([{ place: topic, waiting: 600, parked: 0 }])
      const { rows } = await place.pool.query(`select count(*)::int as n from ${place.schema}.inbox`)
      expect(rows).toEqual([{ n: 601 }])
      await kafka.restart()
      await eventually(async () => (await outbox.backlog()).length === 0, WITHIN_MS)
      expect(events).not.toContain('parked')
      expect(sizeOf(topic)).toBeGreaterThanOrEqual(601)
      await outbox.stop(1_000)
    },
    2 * WITHIN_MS,
  )
})
