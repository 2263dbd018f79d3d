import type { MonotonicMs } from '../core/units.ts'
import type { Clock } from '../ports/clock.ts'
import { refused, type ReplayedConsumer } from './place.ts'

/** How long the hold of a process that died lasts. Also the longest time without an answer of the ledger. */
export const HOLD_MS = 30_000
export const HEARTBEAT_MS = 2_000

export interface Holding {
  readonly id: string
  readonly owner: string
  readonly clock: Clock
  /** What the ledger keeps. */
  readonly state: () => string
}

/** Keeps others from doing the same work at the same time. */
export interface Hold {
  /** Does nothing more often than every 2 s. @throws ReplayError `REPLAY_REFUSED` if another process has it now */
  extend(): Promise<void>
  release(): Promise<void>
}

/** @throws ReplayError `REPLAY_REFUSED` if another process has it */
export async function takeHold(of: ReplayedConsumer, { id, owner, clock, state }: Holding): Promise<Hold> {
  const ledger = of.ledger()
  const how = (): { owner: string; ttlMs: number; state: string } => ({ owner, ttlMs: HOLD_MS, state: state() })
  const taken = await ledger.take(of.scope, id, how())
  if (taken.verdict === 'held') {
    throw refused(
      `${id}: another process does it now; if that one has died, it can be done in ${Math.ceil(taken.leftMs / 1_000)} s`,
    )
  }
  let at: MonotonicMs = clock.monotonic()
  return {
    extend: async () => {
      if (clock.monotonic() - at < HEARTBEAT_MS) return
      const sentAt = clock.monotonic()
      if (!(await ledger.save(of.scope, id, how())).held) throw refused(`${id}: another process does it now`)
      at = sentAt
    },
    release: () => ledger.leave(of.scope, id, owner).catch(() => {}),
  }
}
