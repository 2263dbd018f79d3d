import { describe, expect, it } from '@jest/globals'
import { runKafka } from '../../adapters/kafkajs/index.ts'
import { defineConsumer, messageId, type Running } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { eventually } from '../kit/eventually.ts'
import { uniqueName } from '../kit/namespace.ts'
import { openedOnce } from '../kit/opened.ts'
import { Cluster, FAST } from './kit.ts'
import { stoppedAfterEach } from '../kit/after-each.ts'

let cluster: Cluster
const running = stoppedAfterEach<Running>()

openedOnce(Cluster, (made) => (cluster = made))

async function start(topic: string, group: string): Promise<{ readonly one: Running; readonly handled: string[] }> {
  const handled: string[] = []
  const consumer = defineConsumer({
    name: 'sms',
    id: messageId.header('id'),
    decode: (value) => value,
    store: memoryStore(),
    handle: ({ message }) => void handled.push(String(message.headers['id'])),
  })
  const one = await runKafka(cluster.kafka(), consumer, { ...FAST, topics: [topic], group, startAt: 'earliest' })
  running.push(one)
  return { one, handled }
}

const sent = (...ids: readonly string[]): { readonly value: string; readonly headers: { readonly id: string } }[] =>
  ids.map((id) => ({ value: id, headers: { id } }))

describe('a Kafka consumer that a person pauses', () => {
  it('keeps its partitions, gets more by a rebalance, and begins nothing of any of them until it is resumed', async () => {
    const [topic, group] = [await cluster.topic(2), uniqueName('group')]
    const first = await start(topic, group)
    const second = await start(topic, group)
    await eventually(async () => [first, second].every(({ one }) => one.health().partitions.length === 1))
    await cluster.send(topic, sent('a'), 0)
    await cluster.send(topic, sent('b'), 1)
    await cluster.untilCommitted(group, topic, [1, 1])
    first.one.pause({ by: 'kim', reason: 'OPS-812' })
    const before = first.handled.length
    // Its group goes on without it, then leaves it everything.
    await second.one.stop()
    await eventually(async () => first.one.health().partitions.length === 2)
    await cluster.send(topic, sent('c'), 0)
    await cluster.send(topic, sent('d'), 1)
    await eventually(async () => first.one.health().partitions.every(({ paused }) => paused.includes('consumer')))
    expect(await cluster.membersOf(group)).toBe(1)
    expect(first.one.health()).toMatchObject({
      live: true,
      ready: false,
      state: 'paused',
      checks: { source: 'paused by kim: OPS-812' },
    })
    expect(first.handled).toHaveLength(before)
    expect(await cluster.committed(group, topic)).toEqual([1, 1])
    first.one.resume({ by: 'kim' })
    await cluster.untilCommitted(group, topic, [2, 2])
    expect(first.handled.slice(before).toSorted()).toEqual(['c', 'd'])
    expect(first.one.health()).toMatchObject({ ready: true, state: 'running' })
  }, 120_000)
})
