import type { FailedRow, Outgoing, OutboxBacklog, OutboxRefused, OutgoingRow } from '../../../src/internal.ts'
import type { Script } from '../session.ts'

// A row of the outbox is a message that was committed with an effect and is not yet confirmed by its broker. `line` orders
// it: rows of one line are published in the order of their `id`, one after the other. A lane is 1/32 of all lines. A relay
// works on lanes that it has locked, so no two publish rows of one line at once, and a frozen one loses its lanes with its
// connection.
//
// Rows are never skipped: a relay has no position, it takes what is there. A transaction that commits late only makes its
// rows visible late. Whoever depends on it commits after it, and so has a higher `id`.

/** Lanes are numbered from 0. */
export const LANES = 32

/** The statements of an outbox, in the SQL of one database. */
export interface OutboxStatements {
  /** In the order of the messages. */
  write(messages: readonly Outgoing[]): Script
  /** The same in one statement with parameters, for a transaction of the user. */
  writeWith(messages: readonly Outgoing[]): { readonly text: string; readonly values: readonly unknown[] }
  /** Locks nothing; one row. */
  anyDue(): Script<{ readonly is_any: boolean | number }>
  /** Locks lanes that have due rows and that no other relay has locked, until the transaction ends. */
  lockLanes(): Script<{ readonly lane: number }>
  /** Before the first start. */
  isBeforeTables(error: unknown): boolean
  /** Another relay has what was to be locked. */
  isBusy(error: unknown): boolean
  /** Rows of locked lanes, the oldest first, but for those behind one of their line that waits. */
  due(lanes: readonly number[], most: number): Script<StoredRow>
  /** The end of the transaction of a relay. */
  settle(published: readonly string[], failed: readonly FailedRow[]): Script
  /** By place. */
  backlog(): Script<StoredBacklog>
  refused(most: number): Script<StoredRefused>
  /** Those that were refused are due at once, with attempts counted anew. Answers with them. */
  unpark(ids: readonly string[]): Script<{ readonly id: string }>
}

/** Columns of a message, in the order of `valuesOf`. */
export const COLUMNS = ['lane', 'line', 'system', 'message_id', 'place', 'key', 'value', 'attributes'] as const

export type Value = string | number | Uint8Array | null

export function valuesOf({ line, system, messageId, place, key, value, attributes }: Outgoing): readonly Value[] {
  // oxlint-disable-next-line no-bitwise
  return [line & (LANES - 1), line, system === 'kafka' ? 'k' : 'r', messageId, place, key, value, attributes]
}

export interface StoredRow {
  readonly id: string
  readonly attempts: number
  readonly line: number
  readonly system: string
  readonly message_id: string
  readonly place: string
  /** Hex. */
  readonly key: string | null
  readonly value: string | null
  readonly attributes: string
}

export function rowOf({ message_id: messageId, system, key, value, ...row }: StoredRow): OutgoingRow {
  return {
    ...row,
    messageId,
    system: system === 'k' ? 'kafka' : 'rabbitmq',
    key: key === null ? null : Buffer.from(key, 'hex'),
    value: value === null ? null : Buffer.from(value, 'hex'),
  }
}

/** Rows that are counted at most. */
export const MOST_COUNTED = 10_000

export interface StoredBacklog {
  readonly system: string
  readonly place: string
  readonly waiting: number
  readonly failing: number
  readonly parked: number
  /** Seconds. */
  readonly oldest_s: number
}

export function backlogOf({ system, oldest_s: seconds, ...counts }: StoredBacklog): OutboxBacklog {
  return {
    system: system === 'k' ? 'kafka' : 'rabbitmq',
    ...counts,
    oldestMs: Math.max(0, Math.round(seconds * 1_000)),
  }
}

export interface StoredRefused {
  readonly id: string
  readonly place: string
  readonly message_id: string
  readonly cause: string | null
  readonly attempts: number
  readonly is_parked: boolean | number
}

export function refusedOf({ message_id: messageId, cause, is_parked: isParked, ...row }: StoredRefused): OutboxRefused {
  return { ...row, messageId, cause: cause ?? undefined, isParked: Boolean(isParked) }
}
