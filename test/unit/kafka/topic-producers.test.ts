import { expect, it } from '@jest/globals'
import type { Producer } from '../../../adapters/kafka/client.ts'
import { TopicProducers } from '../../../adapters/kafka/publishing/topic-producers.ts'

const MOST_CONNECTIONS = 9
const TOPICS = Array.from({ length: 30 }, (_, n) => `t${n}`)

/** A cluster that is away until it is told to be back. */
class Cluster {
  isAway = true
  readonly open = new Set<object>()

  async producer(): Promise<Producer> {
    const mine = {}
    this.open.add(mine)
    return {
      send: async ({ topic }) => {
        if (this.isAway) throw new Error('no broker answers')
        return [{ topicName: topic, partition: 0, errorCode: 0 }]
      },
      disconnect: async () => void this.open.delete(mine),
    }
  }
}

it('has few connections after an outage in which the sends to every topic failed', async () => {
  const cluster = new Cluster()
  const producers = new TopicProducers(cluster)
  const send = (topic: string): Promise<void> => producers.sendAgain(topic, [], 1_000, () => {})
  const failed = await Promise.allSettled(TOPICS.map(send))
  expect(failed.every(({ status }) => status === 'rejected')).toBe(true)
  cluster.isAway = false
  for (const topic of [...TOPICS, ...TOPICS]) await send(topic)
  expect(cluster.open.size).toBeGreaterThan(1)
  expect(cluster.open.size).toBeLessThanOrEqual(MOST_CONNECTIONS)
  producers.rest()
  await send('t0')
  await send('t29')
  expect(cluster.open.size).toBe(1)
  await producers.close()
  expect(cluster.open.size).toBe(0)
})
