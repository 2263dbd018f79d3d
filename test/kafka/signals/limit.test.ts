import { describe, expect, it } from '@jest/globals'
import { runKafka } from '../../../adapters/kafkajs/index.ts'
import {
  defineConsumer,
  messageId,
  RetryLaterError,
  type LimitOptions,
  type Running,
  type Store,
} from '../../../src/index.ts'
import { memoryStore } from '../../../src/memory/index.ts'
import { stoppedAfterEach } from '../../kit/after-each.ts'
import { eventually } from '../../kit/eventually.ts'
import { uniqueName } from '../../kit/namespace.ts'
import { openedOnce } from '../../kit/opened.ts'
import { Cluster, FAST } from '../kit.ts'

let cluster: Cluster
const running = stoppedAfterEach<Running>({ deadlineMs: 1_000 })

openedOnce(Cluster, (made) => (cluster = made))

interface Started {
  readonly one: Running
  /** ID, and when its handler began. */
  readonly began: (readonly [id: string, at: number])[]
  readonly told: string[]
}

async function start(
  topic: string,
  {
    limit,
    failing = () => {},
    maxInFlight = 4,
    group = uniqueName('group'),
    store = memoryStore(),
  }: {
    readonly limit: LimitOptions
    readonly failing?: (id: string) => void
    readonly maxInFlight?: number
    readonly group?: string
    readonly store?: Store
  },
): Promise<Started> {
  const began: (readonly [string, number])[] = []
  const told: string[] = []
  const consumer = defineConsumer({
    name: 'sms',
    id: messageId.header('id'),
    decode: (value) => value,
    store,
    concurrency: 4,
    maxInFlight,
    limit,
    handle: ({ message }) => {
      const id = String(message.headers['id'])
      began.push([id, performance.now()])
      failing(id)
    },
    observe: (event) => void told.push(event.type === 'source' ? event.event : event.type),
  })
  const one = await runKafka(cluster.kafka(), consumer, { ...FAST, topics: [topic], group, startAt: 'earliest' })
  running.push(one)
  return { one, began, told }
}

const sent = (
  ...ids: readonly string[]
): { readonly value: string; readonly key: string; readonly headers: { readonly id: string } }[] =>
  ids.map((id) => ({ value: id, key: id, headers: { id } }))

const ids = (name: string, count: number): string[] => Array.from({ length: count }, (_, n) => `${name}${n}`)

describe('a Kafka consumer with a limit', () => {
  it('keeps its partitions while messages wait for longer than its session, and is not stalled', async () => {
    const topic = await cluster.topic(1)
    await cluster.send(topic, sent(...ids('m', 18)))
    const { one, began, told } = await start(topic, { limit: { perSecond: 2, burst: 1 } })
    await eventually(async () => one.health().limited === 3)
    expect(one.health()).toMatchObject({ state: 'running', ready: true, live: true })
    expect(one.health().checks['limit']).toBe('3 wait for the limit of 2 a second')
    // 9 s, with a session of 6.
    await eventually(async () => began.length === 18, 30_000)
    const [first = 0, last = 0] = [began[0]?.[1], began.at(-1)?.[1]]
    expect(17 / ((last - first) / 1_000)).toBeGreaterThan(1.9)
    expect(17 / ((last - first) / 1_000)).toBeLessThan(2.05)
    expect(began.map(([id]) => id).toSorted()).toEqual(ids('m', 18).toSorted())
    expect(told.filter((event) => ['stalled', 'attempt-failed', 'lease-lost', 'group-crash'].includes(event))).toEqual(
      [],
    )
    expect(one.health().partitions.length).toBe(1)
  }, 60_000)

  it('lets a quiet key of the same partition pass a busy one, within what is in flight', async () => {
    const topic = await cluster.topic(1)
    await cluster.send(topic, sent(...ids('a', 20), 'b0', 'b1'))
    const { began } = await start(topic, {
      maxInFlight: 100,
      limit: { perSecond: 5, burst: 1, by: ({ headers }) => String(headers['id']).charAt(0) },
    })
    await eventually(async () => began.some(([id]) => id === 'b1'))
    expect(began.filter(([id]) => id.startsWith('a')).length).toBeLessThan(6)
  }, 60_000)

  it('gives what waits to the next member at a rebalance, which handles each once', async () => {
    const [topic, group, store] = [await cluster.topic(2), uniqueName('group'), memoryStore()]
    await cluster.send(topic, sent(...ids('a', 15)), 0)
    await cluster.send(topic, sent(...ids('b', 15)), 1)
    const limit = { perSecond: 5, burst: 1 }
    const first = await start(topic, { limit, group, store, maxInFlight: 10 })
    await eventually(async () => (first.one.health().limited ?? 0) > 10)
    const second = await start(topic, { limit, group, store, maxInFlight: 10 })
    await cluster.untilCommitted(group, topic, [15, 15])
    const began = [...first.began, ...second.began].map(([id]) => id)
    expect(began.toSorted()).toEqual([...ids('a', 15), ...ids('b', 15)].toSorted())
    expect(second.began.length).toBeGreaterThan(0)
    await eventually(async () => [first, second].every(({ one }) => one.health().limited === 0))
  }, 90_000)

  it('obeys Retry-After, for all messages of the key', async () => {
    const topic = await cluster.topic(1)
    await cluster.send(topic, sent(...ids('m', 4)))
    let refused = false
    const { one, began, told } = await start(topic, {
      limit: { perSecond: 100, burst: 1 },
      failing: () => {
        if (refused) return
        refused = true
        throw new RetryLaterError({ afterMs: 1_500 })
      },
    })
    await eventually(async () => began.length >= 5)
    const [first = 0, second = 0] = began.map(([, at]) => at)
    // Those that were claimed with the first one may run beside it.
    const waited = began.filter(([, at]) => at - first >= 1_400)
    expect(waited.length).toBeGreaterThanOrEqual(1)
    expect(second).toBeGreaterThanOrEqual(first)
    expect(told.filter((event) => event === 'put-off')).toEqual(['put-off'])
    expect(told).not.toContain('attempt-failed')
    expect(one.health().checks['limit']).toBe('ok')
  }, 60_000)
})
