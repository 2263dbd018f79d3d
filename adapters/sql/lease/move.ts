import { transition, type Command, type EpochMs, type MessageRecord, type Transition } from '../../../src/internal.ts'
import { despiteConflicts } from '../despite-conflicts.ts'
import { recordOf, rowOf } from './record.ts'
import type { AuditedLeases, LeasePlace, LeaseRow } from './statements.ts'

/** A command for a key in hex. */
export interface Move {
  readonly key: string
  readonly command: Command
}

export interface Moved {
  readonly key: string
  readonly before: MessageRecord
  readonly verdict: Transition<Command['command']>['verdict']
  readonly now: EpochMs
}

/** What is logged together with the moves. */
export type Witness = (moved: readonly Moved[]) => AuditedLeases | undefined

/**
 * Applies `transition()` between a lock and a write: rows are locked, moved by the same function as in the core, and
 * written back in the same transaction. Answers in the order of the moves. A command that is sent again finds its
 * earlier writes by owner token.
 */
export function moveRecords(place: LeasePlace, moves: readonly Move[], witness?: Witness): Promise<readonly Moved[]> {
  return despiteConflicts(() => moveOnce(place, moves, witness), place.sessions.errors.mayPassAgain)
}

async function moveOnce({ leases }: LeasePlace, moves: readonly Move[], witness?: Witness): Promise<readonly Moved[]> {
  const keys = [...new Set(moves.map(({ key }) => key))].toSorted()
  const { session, rows, now } = await leases.lock(keys)
  try {
    const found = new Map<string, MessageRecord>(rows.map((row) => [row.key, recordOf(row)]))
    const current = new Map(found)
    const moved = moves.map(({ key, command }): Moved => {
      const before = current.get(key) ?? { state: 'absent' }
      const { next, verdict } = transition<Command['command']>(before, command, now)
      if (next !== before) current.set(key, next)
      return { key, before, verdict, now }
    })
    const [fresh, kept]: [LeaseRow[], LeaseRow[]] = [[], []]
    for (const key of keys) {
      const [was, record] = [found.get(key), current.get(key)]
      if (record === undefined || record === was) continue
      const row = rowOf(key, record)
      // An expired record counts as absent. Its row stays until it is purged or overwritten.
      if (row !== undefined) (was === undefined ? fresh : kept).push(row)
    }
    if (fresh.length === 0 && kept.length === 0) await session.rollback()
    else await leases.commit(session, { fresh, kept }, witness?.(moved))
    return moved
  } catch (error) {
    await session.rollback()
    throw error
  }
}
