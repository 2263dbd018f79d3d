import { describe, expect, it } from '@jest/globals'
import { runKafka } from '../../adapters/kafkajs/index.ts'
import { HOLD_AFTER } from '../../src/core/breaker.ts'
import { defineConsumer, messageId, TerminalError, type Running, type Store } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { Cluster, FAST } from '../../test/kafka/kit.ts'
import { eventually } from '../../test/kit/eventually.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { openedOnce } from '../../test/kit/opened.ts'
import { stoppedAfterEach } from '../../test/kit/after-each.ts'

let cluster: Cluster
const running = stoppedAfterEach<Running>()

openedOnce(Cluster, (made) => (cluster = made))

interface Place {
  readonly topic: string
  readonly group: string
  readonly deadLetters: string
  readonly store: Store
}

async function place(): Promise<Place> {
  const [topic, deadLetters] = [await cluster.topic(2), await cluster.topic(1)]
  return { topic, deadLetters, group: uniqueName('group'), store: memoryStore() }
}

interface Version {
  readonly id: string
  readonly isPoison?: (id: string) => boolean
}

async function deploy(
  where: Place,
  { id, isPoison = () => false }: Version,
  handled: string[],
  told: string[] = [],
): Promise<Running> {
  const consumer = defineConsumer({
    name: 'sms',
    id: messageId.header(id),
    decode: (value) => value,
    store: where.store,
    observe: ({ type }) => void told.push(type),
    handle: ({ message }) => {
      const own = String(message.headers['id'])
      if (isPoison(own)) throw new TerminalError('poison')
      handled.push(own)
    },
  })
  const { topic, group } = where
  const one = await runKafka(cluster.client(), consumer, {
    ...FAST,
    topics: [topic],
    group,
    start: 'earliest',
    deadLetter: { topic: where.deadLetters },
  })
  running.push(one)
  return one
}

async function countIn(topic: string): Promise<number> {
  return (await cluster.highs(topic)).reduce((sum, { high }) => sum + Number(high), 0)
}

async function fill(topic: string, count: number): Promise<readonly string[]> {
  const ids = Array.from({ length: count }, (_, at) => `${at}`)
  for (const partition of [0, 1]) {
    const half = ids.filter((_, at) => at % 2 === partition)
    await cluster.send(
      topic,
      half.map((id) => ({ value: id, headers: { id } })),
      partition,
    )
  }
  return ids
}

const isPoison = (id: string): boolean => Number(id) % 10 < 3

describe('a Kafka consumer in which nothing but failures comes through', () => {
  it.each([
    ['with a misspelt ID field', { id: 'Id' }],
    ['whose handler always fails after a deploy', { id: 'id', isPoison: () => true }],
  ])(
    '%s dead-letters a few of 5,000 messages, is not ready, stays in its group, and the next deploy handles the rest',
    async (_, broken) => {
      const where = await place()
      const ids = await fill(where.topic, 5_000)
      const handled: string[] = []
      const bad = await deploy(where, broken, handled)
      await eventually(async () => bad.state === 'holding')
      const health = bad.health()
      expect(health).toMatchObject({ live: true, ready: false })
      expect(health.checks['hold']).toMatch(/50 messages or more in a row ended without their effect/)
      // At least one trial, which is dead-lettered too.
      await eventually(async () => (await countIn(where.deadLetters)) > HOLD_AFTER)
      const { members } = (await cluster.admin.describeGroups([where.group])).groups[0] ?? { members: [] }
      expect(members).toHaveLength(1)
      await bad.stop()
      const lost = await countIn(where.deadLetters)
      // One for each look and each trial: 1 s, 2 s, 4 s, ...
      expect(lost).toBeLessThanOrEqual(HOLD_AFTER + 8)
      expect(handled).toEqual([])

      await deploy(where, { id: 'id' }, handled)
      await cluster.untilCommitted(where.group, where.topic, [2_500, 2_500])
      // What was dead-lettered without an ID has no record, and what was given up keeps its own.
      const dead = new Set((await cluster.read(where.deadLetters, lost)).map(({ value }) => String(value)))
      expect(new Set([...handled, ...dead])).toEqual(new Set(ids))
      expect(handled).toHaveLength(5_000 - dead.size)
      expect(dead.size).toBe(lost)
    },
    120_000,
  )

  it('never holds while three of ten messages are poison', async () => {
    const where = await place()
    const ids = await fill(where.topic, 2_000)
    const handled: string[] = []
    const told: string[] = []
    await deploy(where, { id: 'id', isPoison }, handled, told)
    await cluster.untilCommitted(where.group, where.topic, [1_000, 1_000])
    expect([told.includes('holding'), handled.length, await countIn(where.deadLetters)]).toEqual([false, 1_400, 600])
    expect(new Set(handled)).toEqual(new Set(ids.filter((id) => !isPoison(id))))
  }, 120_000)
})
