import { describe, expect, it } from '@jest/globals'
import { backends } from '../../test/kit/backends.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { startPrivateRedisCluster } from '../../test/kit/servers/private-redis-cluster.ts'
import { runProgram } from '../kit/worker/bundled.ts'
import { effectsOn, INBOXES_ON, LEASES_ON, type WorkerStore } from '../kit/worker-stores.ts'
import type { CrossingMessage, CrossingSpec } from './program.ts'

const PAIRS = 20

const ON_ALL = ['postgres', 'mariadb', 'redis'] as const
const describeOnAll = ON_ALL.every((on) => backends.has(on)) ? describe : describe.skip

const STORES: readonly (readonly [name: string, open: () => Promise<WorkerStore>])[] = [
  ['redisLease', LEASES_ON.redis],
  ['redisLease on a cluster', onCluster],
  ['postgresLease', LEASES_ON.postgres],
  ['mysqlLease', LEASES_ON.mariadb],
  ['postgresInbox', INBOXES_ON.postgres],
  ['mysqlInbox', INBOXES_ON.mariadb],
]

/** The keys of one message are in different slots, so a claim is a script for each. */
async function onCluster(): Promise<WorkerStore> {
  const cluster = await startPrivateRedisCluster()
  const [first] = cluster.nodes
  return {
    spec: { on: 'redis', strategy: 'lease', url: first?.url ?? '', isCluster: true },
    committed: async () => 0,
    [Symbol.asyncDispose]: () => cluster.stop(),
  }
}

/** Two messages that share one identity: in even pairs the second, in odd pairs the first. */
function pair(round: number): readonly [CrossingMessage, CrossingMessage] {
  const [a, b, effect] = [`a${round}`, `b${round}`, `shared${round}`]
  return round % 2 === 0
    ? [
        { id: a, order: effect, effect },
        { id: b, order: effect, effect },
      ]
    : [
        { id: effect, order: a, effect },
        { id: effect, order: b, effect },
      ]
}

const ROUNDS = Array.from({ length: PAIRS }, (_, round) => pair(round))
/** The orders in which processes get them: each pair both ways, the pairs both ways. */
const ORDERS: readonly (readonly CrossingMessage[])[] = [
  ROUNDS.flat(),
  ROUNDS.flatMap(([a, b]) => [b, a]),
  ROUNDS.flat().toReversed(),
  ROUNDS.toReversed().flat(),
]

const run = (spec: CrossingSpec): Promise<readonly string[] | 'killed'> =>
  runProgram(new URL('program.ts', import.meta.url), spec)

interface End {
  /** How each message ended, by process. */
  readonly settled: readonly (readonly string[] | 'killed')[]
  /** How often each effect happened, in the order of the pairs. */
  readonly effects: readonly number[]
}

async function cross(store: WorkerStore, own: Pick<CrossingSpec, 'dieBefore' | 'onInDoubt'>): Promise<End> {
  const { dieBefore, ...all } = own
  const { file, times } = effectsOn(store)
  const shared = { store: store.spec, group: uniqueName('group'), file, ...all }
  const specs = ORDERS.map((messages, at): CrossingSpec => {
    const dies = at === 0 && dieBefore !== undefined
    return { ...shared, messages, ...(dies && { dieBefore }) }
  })
  const settled = await Promise.all(specs.map(run))
  return { settled, effects: await Promise.all(ROUNDS.map(([{ effect }]) => times(effect))) }
}

const ACKS = ROUNDS.flat().map(() => 'ack')

describeOnAll.each(STORES)('messages that share one of two identities, in four processes, on %s', (_, open) => {
  it('have one effect in whatever order they come, and none waits for ever [T262]', async () => {
    await using store = await open()
    const { settled, effects } = await cross(store, {})
    expect(settled).toEqual(settled.map(() => ACKS))
    expect(effects).toEqual(effects.map(() => 1))
  }, 120_000)

  it('also when a process dies over one of them: a lease parks what is in doubt, an inbox runs it [T289]', async () => {
    await using store = await open()
    const isLease = store.spec.strategy === 'lease'
    const { settled, effects } = await cross(store, { dieBefore: 'shared7', ...(isLease && { onInDoubt: 'park' }) })
    // The first one dies, or finds that the others were faster.
    const [first, ...others] = settled
    expect([ACKS, 'killed']).toContainEqual(first)
    expect(isLease ? ['ack', 'dead-letter'] : ['ack']).toEqual(expect.arrayContaining([...new Set(others.flat())]))
    const least = isLease ? 0 : 1
    expect(effects.filter((times) => times < least || times > 1)).toEqual([])
  }, 120_000)
})
