import { expect } from '@jest/globals'
import { uniqueName } from '../../test/kit/namespace.ts'
import { effectsOn, INBOXES_ON, LEASES_ON, type WorkerStore } from '../kit/worker-stores.ts'
import type { DieAt, MortalSpec } from './mortal.ts'

/** How the call after the crash ended: it ran, it got the answer of the first one, or it was refused because of doubt. */
export type Ending = 'ran' | 'replayed' | 'in doubt'

/** By the step at which the process is killed: how the next call ends, and how many effects there are then. */
type Ends = Readonly<Record<(typeof POINTS)[number], readonly [Ending, effects: number]>>

const POINTS = ['before the claim is answered', 'in the function', 'before the mark', 'after the mark'] as const

const INBOX: Ends = {
  'before the claim is answered': ['ran', 1],
  'in the function': ['ran', 1],
  'before the mark': ['ran', 1],
  'after the mark': ['replayed', 1],
}
const RERUN: Ends = { ...INBOX, 'in the function': ['ran', 2], 'before the mark': ['ran', 2] }
const PARK: Ends = {
  'before the claim is answered': ['in doubt', 0],
  'in the function': ['in doubt', 1],
  'before the mark': ['in doubt', 1],
  'after the mark': ['replayed', 1],
}

type Case = readonly [
  says: string,
  open: () => Promise<WorkerStore>,
  onInDoubt: 'rerun' | 'park' | undefined,
  ends: Ends,
]

/** A call in a process of its own; `undefined` if the process was killed over it. */
export type Call = (spec: MortalSpec) => Promise<Ending | undefined>

export const CASES: readonly Case[] = [
  ['an inbox on Postgres has no second effect, whatever step it was', INBOXES_ON.postgres, undefined, INBOX],
  ['an inbox on MariaDB has no second effect, whatever step it was', INBOXES_ON.mariadb, undefined, INBOX],
  ['a lease on Redis runs again what is in doubt, and nothing else', LEASES_ON.redis, 'rerun', RERUN],
  ['a lease on Redis parks what is in doubt, and nothing runs twice', LEASES_ON.redis, 'park', PARK],
]

/** At each step: a process dies, and the next call is made in another. */
export async function endsOf(
  call: Call,
  store: WorkerStore,
  onInDoubt?: 'rerun' | 'park',
): Promise<Readonly<Record<string, readonly [Ending | undefined, effects: number]>>> {
  const life = async (dieAt: DieAt): Promise<readonly [Ending | undefined, number]> => {
    const key = uniqueName('key')
    const { file, times } = effectsOn(store)
    const spec: MortalSpec = { store: store.spec, key, file, dieAt, ...(onInDoubt && { onInDoubt }) }
    expect(await call(spec)).toBeUndefined()
    const ending = await call({ ...spec, dieAt: 'never' })
    return [ending, await times(key)]
  }
  return Object.fromEntries(await Promise.all(POINTS.map(async (point) => [point, await life(point)] as const)))
}
