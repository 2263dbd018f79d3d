import type { DurationMs } from './units.ts'

/**
 * A transaction stays open for so many times what its claim and its commit take, and then ends at the next handler. So
 * these two cost a twentieth of the time of its handlers, and no message waits longer for others of its transaction.
 */
const HANDLERS_PER_CALL = 20
const LEAST_OPEN_MS: DurationMs = 100
const MOST_OPEN_MS: DurationMs = 1_000

/** How many messages share a transaction, by how long everything took so far. */
export interface Pace {
  readonly most: number
  /** Average time of a handler. */
  readonly eachMs: DurationMs
  /** How long a transaction may stay open for further handlers. */
  readonly openMs: DurationMs
}

/** One by one, until it is known how quick the handlers are. */
export const FIRST_PACE: Pace = { most: 1, eachMs: 0, openMs: LEAST_OPEN_MS }

/** One transaction. */
export interface Lap {
  /** How many messages got their turn in it, those that needed no handler included. At least one. */
  readonly count: number
  /** How long their handlers took. */
  readonly ms: DurationMs
  /** How long its claim and its commit took. `undefined`: it was not committed. */
  readonly callsMs?: DurationMs | undefined
  /** One of them failed, so the others of its transaction have to run again. */
  readonly hasFailed: boolean
}

/**
 * Batches grow while their handlers are quick and succeed: each transaction may double them. They shrink at once when
 * handlers are slow, and to a half with each failure, so that a failure costs few other messages a second run.
 */
export function paced(pace: Pace, { count, ms, callsMs, hasFailed }: Lap, limit: number): Pace {
  const now = ms / count
  const eachMs = pace.eachMs === 0 ? now : (pace.eachMs + now) / 2
  const openMs = callsMs === undefined ? pace.openMs : (pace.openMs + openFor(callsMs)) / 2
  const grown = hasFailed ? Math.floor(pace.most / 2) : Math.max(pace.most, 2 * count)
  const inTime = eachMs === 0 ? limit : Math.floor(openMs / eachMs) // mutant: batches-without-a-bound
  return { most: Math.max(1, Math.min(limit, grown, inTime)), eachMs, openMs }
}

/** The transaction ends before its next handler. */
export function isOpenLongEnough({ openMs }: Pace, ms: DurationMs): boolean {
  return ms >= openMs // mutant: batches-without-a-bound 2
}

/** How many of `waiting` messages one of the idle transactions takes: they spread before they share. */
export function shareOf(waiting: number, idle: number): number {
  return Math.max(1, Math.ceil(waiting / Math.max(1, idle)))
}

function openFor(callsMs: DurationMs): DurationMs {
  return Math.min(MOST_OPEN_MS, Math.max(LEAST_OPEN_MS, HANDLERS_PER_CALL * callsMs))
}
