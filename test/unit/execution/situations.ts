import { expect } from '@jest/globals'
import { NoEffectError, OutcomeUnknownError } from '../../../src/index.ts'
import { turns } from '../../kit/manual-clock.ts'
import { aborted } from '../../kit/rig.ts'
import type { Told, Work, World } from './entries.ts'

export interface Situation {
  readonly name: string
  readonly work?: Work
  /** Before the first call. */
  readonly before?: (world: World) => void
  /** What is called, and what happens meanwhile. @defaultValue one call, and two seconds */
  readonly steps?: (world: World, call: (payload?: string) => void) => Promise<void>
  readonly timeoutMs?: number
  readonly backoffMs?: number
  readonly maxAttempts?: number
  readonly runs: number
  /** `undefined`: there is no such thing under a lease. */
  readonly record: string | undefined
  /** On an inbox; `undefined`: there is no such thing there. @defaultValue as `record` */
  readonly onInbox?: string | undefined
  /** What each call is told, in order. @defaultValue not compared */
  readonly told?: readonly Told[]
}

const waitsForGate: Work = ({ world }) => world.gate.opened
const fails = (error: Error): Work => {
  return () => {
    throw error
  }
}

export async function oneCall(world: World, call: () => void): Promise<void> {
  call()
  await world.clock.advance(2_000)
}

function leased({ clock }: World, leaseMs: number): object {
  const now = clock.now()
  return { leaseUntil: now + leaseMs, keepUntil: now + 86_400_000, attempt: 1, doubt: false }
}

const OTHER = { owner: 'another', fence: 7 }

export const SITUATIONS: readonly Situation[] = [
  { name: 'it returns', runs: 1, record: 'done', told: ['done'] },
  { name: 'it throws', work: fails(new Error('no')), runs: 1, record: 'released', onInbox: 'absent', told: ['open'] },
  {
    name: 'it throws that nothing happened',
    work: fails(new NoEffectError('open')),
    runs: 1,
    record: 'released',
    onInbox: 'absent',
    told: ['open'],
  },
  {
    name: 'it throws that the outcome is unknown',
    work: fails(new OutcomeUnknownError('no answer')),
    runs: 1,
    record: 'in-doubt',
    onInbox: 'absent',
    told: ['open'],
  },
  {
    name: 'it throws when it is aborted after its time',
    work: async ({ signal }) => {
      throw await aborted(signal)
    },
    runs: 1,
    record: 'in-doubt',
    onInbox: 'absent',
    told: ['open'],
  },
  {
    name: 'it says after its time that nothing happened',
    work: async ({ signal }) => {
      await aborted(signal)
      throw new NoEffectError('stopped in time')
    },
    runs: 1,
    record: 'released',
    onInbox: 'absent',
    told: ['open'],
  },
  {
    name: 'it ends well after its time, before the grace is over',
    work: async ({ signal }) => void (await aborted(signal)),
    runs: 1,
    record: 'done',
    told: ['done'],
  },
  {
    name: 'it never ends: its lease is kept by nobody, and runs out',
    work: () => new Promise(() => {}),
    steps: async (world, call) => {
      call()
      await world.clock.advance(1_700)
    },
    runs: 1,
    record: 'processing',
    onInbox: 'absent',
  },
  {
    name: 'it ends well after the grace, when nobody waits for it',
    work: waitsForGate,
    steps: async (world, call) => {
      call()
      await world.clock.advance(1_700)
      world.gate.open()
      await turns()
    },
    runs: 1,
    record: 'done',
    onInbox: 'absent',
  },
  {
    name: 'the store is down at the claim, for two seconds',
    before: ({ store }) => void (store.isDown = true),
    steps: async (world, call) => {
      call()
      await world.clock.advance(2_000)
      world.store.isDown = false
      await world.clock.advance(5_000)
    },
    runs: 1,
    record: 'done',
    told: ['done'],
  },
  {
    name: 'the answer to the claim is lost',
    before: ({ store }) => store.script('claim', 'lose-reply'),
    runs: 1,
    record: 'done',
    told: ['done'],
  },
  {
    name: 'the answer to the mark is lost',
    before: ({ store }) => store.script('mark', 'lose-reply'),
    runs: 1,
    record: 'done',
    told: ['done'],
  },
  {
    name: 'the store is down at the mark, for a second',
    work: ({ world }) => void (world.store.isDown = true),
    steps: async (world, call) => {
      call()
      await world.clock.advance(1_000)
      world.store.isDown = false
      await world.clock.advance(5_000)
    },
    runs: 1,
    record: 'done',
    told: ['done'],
  },
  {
    name: 'the release of a failure is not answered, for a second',
    work: ({ world }) => {
      world.store.script('release', 'lose-request', 'lose-reply')
      throw new Error('no')
    },
    runs: 1,
    record: 'released',
    onInbox: 'absent',
  },
  {
    name: 'the database ends its transaction as the victim of a deadlock, in its last attempt',
    backoffMs: 100,
    maxAttempts: 1,
    work: ({ world }) => {
      world.loses(world.runs === 1 ? 1 : undefined)
      if (world.runs === 1) throw new Error('deadlock detected')
    },
    steps: async (world, call) => {
      await oneCall(world, call)
      await oneCall(world, call)
    },
    runs: 2,
    record: undefined,
    onInbox: 'done',
  },
  {
    name: 'another owner takes the lease while it runs',
    // It is aborted for its lease, not for its time.
    timeoutMs: 60_000,
    work: async ({ signal }) => {
      throw await aborted(signal)
    },
    steps: async (world, call) => {
      call()
      await turns()
      world.write({ ...OTHER, leaseUntil: world.clock.now() + 600_000 })
      await world.clock.advance(2_000)
    },
    runs: 1,
    record: 'processing',
    onInbox: undefined,
  },
  {
    name: 'the store is down until its lease ends',
    // It is aborted for its lease, not for its time.
    timeoutMs: 60_000,
    work: async ({ signal }) => {
      throw await aborted(signal)
    },
    steps: async (world, call) => {
      call()
      await turns()
      world.store.isDown = true
      await world.clock.advance(5_000)
      expect(world.state).toBe('in-doubt')
    },
    runs: 1,
    record: 'in-doubt',
    onInbox: undefined,
  },
  {
    name: 'it comes again when it is done',
    steps: async (world, call) => {
      await oneCall(world, call)
      await oneCall(world, call)
    },
    runs: 1,
    record: 'done',
    told: ['done', 'done'],
  },
  {
    name: 'it comes again while it runs',
    work: waitsForGate,
    steps: async (world, call) => {
      call()
      call()
      await turns()
      world.gate.open()
      await world.clock.advance(2_000)
    },
    runs: 1,
    record: 'done',
    told: ['done', 'done'],
  },
  {
    name: 'it comes again with another payload when it is done',
    steps: async (world, call) => {
      await oneCall(world, call)
      await oneCall(world, () => call('another'))
    },
    runs: 1,
    record: 'done',
    told: ['done', 'refused'],
  },
  {
    name: 'another process is busy with it',
    steps: async (world, call) => {
      await oneCall(world, call)
      world.write({ ...OTHER, state: 'processing', ...leased(world, 60_000) })
      await oneCall(world, call)
    },
    runs: 1,
    record: 'processing',
    onInbox: undefined,
    told: ['done', 'open'],
  },
  {
    name: 'another process died with it',
    steps: async (world, call) => {
      await oneCall(world, call)
      world.write({ ...OTHER, state: 'processing', ...leased(world, -1) })
      await oneCall(world, call)
    },
    runs: 2,
    record: 'done',
    onInbox: undefined,
    told: ['done', 'done'],
  },
  {
    name: 'a person must decide about it',
    steps: async (world, call) => {
      await oneCall(world, call)
      const aside = { state: 'parked', outcome: 'parked', reason: 'in-doubt', attempt: 1, since: world.clock.now() }
      world.write(aside)
      await oneCall(world, call)
    },
    runs: 1,
    record: 'parked',
    told: ['done', 'refused'],
  },
]
