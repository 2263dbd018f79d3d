import { describe, expect, it } from '@jest/globals'
import { openedOnce } from '../../test/kit/opened.ts'
import { eventually } from '../../test/kit/eventually.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { Cluster } from '../../test/kafka/kit.ts'
import { openStores, type WorkerStores } from '../kit/worker-stores.ts'
import { KafkaWorker, type KafkaConfig, type WorkerMessage } from '../kit/mortal/worker.ts'

let cluster: Cluster
let stores: WorkerStores

openedOnce(Cluster, (made) => (cluster = made))
openedOnce({ open: openStores }, (made) => (stores = made))

const SESSION_MS = 1_500

const STORES = {
  redisLease: (): KafkaConfig['store'] => stores.lease,
  postgresLease: (): KafkaConfig['store'] => ({ ...stores.inbox, strategy: 'lease' }),
  postgresInbox: (): KafkaConfig['store'] => stores.inbox,
}

async function prepare(name: keyof typeof STORES, leaseMs: number): Promise<KafkaConfig & { topic: string }> {
  const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
  const { brokers } = cluster
  return { brokers, topic, topics: [topic], groupId, store: STORES[name](), sessionTimeoutMs: SESSION_MS, leaseMs }
}

function send(topic: string, messages: readonly WorkerMessage[]): Promise<void> {
  const sent = messages.map((message) => ({ key: message.id, value: JSON.stringify(message) }))
  return cluster.send(topic, sent)
}

async function expectNoStepBack(groupId: string): Promise<void> {
  const history = await cluster.commitHistory(groupId)
  expect(history.size).toBe(1)
  for (const offsets of history.values()) expect(offsets).toEqual(offsets.toSorted((a, b) => a - b))
}

describe('a process that is frozen past its session, and goes on', () => {
  it.each(['redisLease', 'postgresLease'] as const)(
    'has lost its lease: it settles nothing, commits nothing back, and joins again by itself: %s [T22]',
    async (name) => {
      const { topic, ...config } = await prepare(name, 1_500)
      const { groupId } = config
      const [first, held, later, last] = [0, 1, 2, 3].map(() => uniqueName('id'))
      await send(topic, [{ id: first ?? '' }, { id: held ?? '', does: 'wait' }])
      await using frozen = new KafkaWorker(config)
      await frozen.untilTold('started', 2)
      await cluster.untilCommitted(groupId, topic, [1])
      frozen.freeze()
      frozen.letGo() // It hears this when it goes on: its handler ends before anything else has told it that it is late.

      await using other = new KafkaWorker(config)
      await other.untilTold('started')
      other.letGo()
      await send(topic, [{ id: later ?? '' }])
      await cluster.untilCommitted(groupId, topic, [3])
      expect(other.told('started')).toEqual([`${held} 2`, `${later} 1`])
      expect(other.told('in-doubt')).toEqual([held])

      frozen.thaw()
      await frozen.untilTold('group-joined', 2)
      expect(frozen.told('handled')).toEqual([first])
      await other.kill()
      await send(topic, [{ id: last ?? '' }])
      await cluster.untilCommitted(groupId, topic, [4])
      expect(frozen.told('started').slice(2)).toEqual([`${last} 1`])
      await expectNoStepBack(groupId)
    },
    60_000,
  )

  it('still holds its transaction: nobody else can have the effect, and it happens once [T11]', async () => {
    const { topic, ...config } = await prepare('postgresInbox', 1_500)
    const { groupId } = config
    const [held, later] = [uniqueName('id'), uniqueName('id')]
    await send(topic, [{ id: held, does: 'wait' }])
    await using frozen = new KafkaWorker(config)
    await frozen.untilTold('started')
    frozen.freeze()

    await using other = new KafkaWorker(config)
    await other.untilTold('group-joined')
    await send(topic, [{ id: later }])
    await other.untilTold('handled')
    expect(other.told('started')).toEqual([`${later} 1`])
    expect(Math.max(...(await cluster.committed(groupId, topic)))).toBeLessThanOrEqual(0)

    frozen.thaw()
    frozen.letGo()
    await cluster.untilCommitted(groupId, topic, [2])
    expect(await stores.committed(held)).toBe(1)
    // The later one too, where a rebalance came before its commit.
    const repeated = (): readonly string[] =>
      [...other.told('duplicate'), ...frozen.told('duplicate'), ...frozen.told('joined')].filter((id) => id === held)
    // The commit may be seen before the report of its process.
    await eventually(() => repeated().length > 0)
    expect(repeated()).toEqual([held])
    await expectNoStepBack(groupId)
  }, 60_000)
})

describe('a claim that a killed process has left', () => {
  it('delays its key only: the others of its partition are handled meanwhile', async () => {
    const { topic, ...config } = await prepare('redisLease', 8_000)
    const { groupId } = config
    const others = Array.from({ length: 5 }, () => uniqueName('id'))
    const left = uniqueName('id')
    await send(topic, [{ id: left, does: 'wait' }])
    await using dead = new KafkaWorker(config)
    await dead.untilTold('started')
    await dead.kill()
    await send(
      topic,
      others.map((id) => ({ id })),
    )

    await using next = new KafkaWorker(config)
    await next.untilTold('handled', others.length)
    expect(next.told('handled').toSorted()).toEqual(others.toSorted())
    expect(next.told('in-doubt')).toEqual([])
    expect(Math.max(...(await cluster.committed(groupId, topic)))).toBeLessThanOrEqual(0)

    next.letGo()
    await cluster.untilCommitted(groupId, topic, [1 + others.length])
    expect(next.told('started').at(-1)).toBe(`${left} 2`)
    expect(next.told('in-doubt')).toEqual([left])
  }, 60_000)
})
