import type {
  Outgoing,
  OutboxBacklog,
  OutboxRefused,
  OutgoingRow,
  OutgoingSystem,
  UnpublishedRow,
} from '../../../src/internal.ts'
import type { Script } from '../session.ts'

// A row of the outbox is a message that was committed with an effect and is not yet confirmed by its broker. `line` orders
// it: rows of one line are published in the order of their `id`, one after the other. A lane is 1/32 of all lines of a broker. A relay
// works on lanes that it has locked, so no two publish rows of one line at once, and a frozen one loses its lanes with its
// connection.
//
// A row is in one of four states:
//
//   due      `not_before` is null
//   waits    `not_before` is set: it was refused (`cause`), or not answered. It is tried again from then on
//   behind   `not_before` is far away: a row before it in its line waits. Relays put it there when they meet it, so that no
//            look meets it again, and `waits` in turn a part of a line each time a row of it that has waited is settled.
//            The first behind a row is looked at each minute: whoever deletes a row by hand leaves nothing behind it for good
//   parked   `parked_at` is set: a person decides
//
// Rows are never skipped: a relay has no position, it takes what is there. A transaction that commits late only makes its
// rows visible late. Whoever depends on it commits after it, and so has a higher `id`.

/** Of one broker. */
const LANES = 32

/** Lanes are numbered from 0: those of Kafka, then those of RabbitMQ. */
export const ALL_LANES: number = 2 * LANES

export function lanesOf(systems: readonly OutgoingSystem[]): readonly number[] {
  return systems.flatMap((system) => Array.from({ length: LANES }, (_, lane) => lane + firstLane(system)))
}

function firstLane(system: OutgoingSystem): number {
  return system === 'kafka' ? 0 : LANES
}

/** Of a row that is behind one that waits: the first in its line, and the others. */
export const BEHIND_FOR_MS = { first: 60_000, others: 86_400_000 } as const

/** Rows that follow one that has waited, when it is settled. */
export const MOST_FOLLOWING = 500

export interface Take {
  readonly lanes: readonly number[]
  /** Rows, about. */
  readonly most: number
  /** Locked at once. A database that locks one at a time does not need it. */
  readonly mostLanes: number
}

/** The statements of an outbox, in the SQL of one database. */
export interface OutboxStatements {
  /** In the order of the messages. */
  write(messages: readonly Outgoing[]): Script
  /** The same in one statement with parameters, for a transaction of the user. */
  writeWith(messages: readonly Outgoing[]): { readonly text: string; readonly values: readonly unknown[] }
  /** Locks nothing; one row. */
  anyDue(lanes: readonly number[]): Script<{ readonly is_any: boolean | number }>
  /**
   * Locks some of these lanes, that have due rows and that no other relay has locked, until the transaction ends. Answers with
   * their rows, the oldest of each lane, also those behind one of their line that waits.
   */
  take(what: Take): Script<StoredRow>
  /** Before the first start. */
  isBeforeTables(error: unknown): boolean
  /** Another relay has what was to be locked. */
  isBusy(error: unknown): boolean
  /** Of the lines of these rows, two rows each, the oldest: those that wait, or are behind, and are not of these. */
  waitingBefore(rows: readonly StoredRow[]): Script<{ readonly line: number; readonly id: string }>
  putBehind(first: readonly string[], others: readonly string[]): Script
  settle(published: readonly OutgoingRow[], unpublished: readonly UnpublishedRow[]): Script
  /** The next rows of these lines, of those that were put behind others. */
  following(lines: readonly number[]): Script<{ readonly id: string }>
  /** They are due again. */
  letGo(ids: readonly string[]): Script
  /** By place. */
  backlog(): Script<StoredBacklog>
  refused(most: number): Script<StoredRefused>
  /** Among the oldest `MOST_SEARCHED`, those whose ID begins so. */
  beginning(text: string): Script<StoredRefused>
  /** Those that were refused are due at once, with attempts counted anew. Answers with them. */
  unpark(ids: readonly string[]): Script<{ readonly id: string }>
}

/** Columns of a message, in the order of `valuesOf`. */
export const COLUMNS = ['lane', 'line', 'system', 'message_id', 'place', 'key', 'value', 'attributes'] as const

export type Value = string | number | Uint8Array | null

export function valuesOf({ line, system, messageId, place, key, value, attributes }: Outgoing): readonly Value[] {
  // oxlint-disable-next-line no-bitwise
  return [
    (line & (LANES - 1)) + firstLane(system),
    line,
    system === 'kafka' ? 'k' : 'r',
    messageId,
    place,
    key,
    value,
    attributes,
  ]
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
  readonly has_waited: boolean
  /** A row of these lanes is put off. */
  readonly any_waits: boolean
}

export function rowOf(stored: StoredRow): OutgoingRow {
  const { message_id: messageId, has_waited: hasWaited, any_waits: _, system, key, value, ...row } = stored
  return {
    ...row,
    messageId,
    hasWaited,
    system: system === 'k' ? 'kafka' : 'rabbitmq',
    key: key === null ? null : Buffer.from(key, 'hex'),
    value: value === null ? null : Buffer.from(value, 'hex'),
  }
}

/** Rows that are looked through for those of one message. */
export const MOST_SEARCHED = 100_000

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
  /** Hex. */
  readonly key: string | null
  readonly cause: string | null
  readonly attempts: number
  readonly is_parked: boolean | number
}

export function refusedOf(stored: StoredRefused): OutboxRefused {
  const { message_id: messageId, key, cause, is_parked: isParked, ...row } = stored
  const text = key === null ? undefined : Buffer.from(key, 'hex').toString()
  return { ...row, messageId, key: text, cause: cause ?? undefined, isParked: Boolean(isParked) }
}
