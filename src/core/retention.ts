import type { Backoff } from './backoff.ts'
import type { DurationMs, EpochMs } from './units.ts'

/** How long a broker can deliver again what was handled. `for-ever`: nothing ends it by time. */
export type RedeliveryWindow = DurationMs | 'for-ever'

/** Clocks of producers, brokers and this process differ by no more. */
const CLOCK_MARGIN_MS = 60_000
/** Of a retention that is short itself. */
const LARGEST_MARGIN = 0.1

/**
 * Of a message that is older, the absence of a record proves nothing: the mark of a run then may have been forgotten by now. A clock
 * margin later than retention, since it is the message's timestamp that is compared, and a producer's clock may be ahead.
 */
export function horizonOf(now: EpochMs, retentionMs: DurationMs): EpochMs {
  return now - retentionMs + Math.min(CLOCK_MARGIN_MS, retentionMs * LARGEST_MARGIN)
}

export interface AttemptTimes {
  readonly leaseMs: DurationMs
  readonly maxAttempts: number
  readonly handlerTimeoutMs: DurationMs
  readonly graceMs: DurationMs
  readonly retry: Backoff
}

/**
 * From one claim of a message to the next, at most, where it waits in its lane; and how that adds up. Each claim has its record kept
 * anew, so this is what a record must outlast, however many attempts there are.
 */
export function longestAttempt(times: AttemptTimes): { readonly ms: DurationMs; readonly sum: string } {
  const { leaseMs, maxAttempts, handlerTimeoutMs, graceMs, retry } = times
  const delayMs = maxAttempts === 1 ? 0 : longestDelayMs(maxAttempts - 1, retry)
  return {
    ms: leaseMs + handlerTimeoutMs + graceMs + delayMs,
    sum: `${leaseMs} + ${handlerTimeoutMs} + ${graceMs} + ${delayMs}`,
  }
}

/** As `backoffMs` has them. */
const DOUBLINGS = 30

/** After so many failures. */
function longestDelayMs(failures: number, { initialMs, maxMs }: Backoff): DurationMs {
  return Math.min(maxMs, initialMs * 2 ** Math.min(failures - 1, DOUBLINGS))
}

/** Of so many backoffs in a row. */
function longestDelaysMs(count: number, backoff: Backoff): DurationMs {
  let sum = 0
  for (let failures = 1; failures <= count; failures++) {
    const delayMs = longestDelayMs(failures, backoff)
    if (delayMs === backoff.maxMs || failures > DOUBLINGS) return sum + (count - failures + 1) * delayMs
    sum += delayMs
  }
  return sum
}

/** What can bring a message again. What is left out counts as nothing. */
export interface RedeliveryFacts {
  /** Kafka: the largest `retention.ms` of the topics; -1 of the broker is `for-ever`. */
  readonly topicRetentionMs?: RedeliveryWindow
  /** RabbitMQ: message TTL of the queue. A queue without one holds messages `for-ever`. */
  readonly queueTtlMs?: RedeliveryWindow
  readonly leaseMs?: DurationMs
  readonly maxAttempts?: number
  readonly handlerTimeoutMs?: DurationMs
  readonly graceMs?: DurationMs
  /** What a message waits before each further attempt: in its lane, or one delay for each retry place. */
  readonly delays?: Backoff | readonly DurationMs[]
}

export interface RetentionAdvice {
  readonly retentionMs: DurationMs
  /** Whether that outlasts all of it. No retention outlasts a broker that keeps for ever. */
  readonly isEnough: boolean
  /** How it adds up, a line each. */
  readonly because: readonly string[]
}

const HOUR_MS = 3_600_000
/** What is left to wait where nothing ends it: as long as an outage that nobody attends to. */
const OUTAGE_MS = 7 * 24 * HOUR_MS

/** The sum of src/suggest-retention.ts, of facts that are checked. */
export function suggestRetention(facts: RedeliveryFacts): RetentionAdvice {
  const { topicRetentionMs, queueTtlMs, leaseMs = 0, maxAttempts = 1, handlerTimeoutMs = 0, graceMs = 0 } = facts
  const because: string[] = []
  let isEnough = true
  let windowMs = 0
  for (const [what, window] of [
    ['the topic', topicRetentionMs],
    ['the queue', queueTtlMs],
  ] as const) {
    if (window === undefined) continue
    if (window === 'for-ever') {
      isEnough = false
      because.push(
        `${what} keeps messages for ever, which no retention outlasts: ${OUTAGE_MS} ms are taken; what is older is for onBeyondRetention to decide`,
      )
    } else because.push(`${what} keeps messages for ${window} ms`)
    windowMs = Math.max(windowMs, window === 'for-ever' ? OUTAGE_MS : window)
  }
  if (topicRetentionMs === undefined && queueTtlMs === undefined) {
    isEnough = false
    because.push('how long the broker keeps messages is not known')
  }
  const runsMs = maxAttempts * (handlerTimeoutMs + graceMs)
  const delaysMs = delaysOf(facts.delays, maxAttempts)
  const handlingMs = leaseMs + runsMs + delaysMs
  if (handlingMs > 0) {
    because.push(
      `then it may be under way for ${handlingMs} ms: a lease of ${leaseMs}, ${maxAttempts} attempts of ${handlerTimeoutMs + graceMs}, ${delaysMs} between them`,
    )
  }
  because.push(`clocks may differ by ${CLOCK_MARGIN_MS} ms`)
  const retentionMs = Math.ceil((windowMs + handlingMs + CLOCK_MARGIN_MS) / HOUR_MS) * HOUR_MS
  because.push(`in whole hours: ${retentionMs} ms`)
  return { retentionMs, isEnough, because }
}

function delaysOf(delays: RedeliveryFacts['delays'], maxAttempts: number): DurationMs {
  if (delays === undefined) return 0
  if ('initialMs' in delays) return longestDelaysMs(maxAttempts - 1, delays)
  return delays.reduce((sum, delayMs) => sum + delayMs, 0)
}

/** Why a retention is too short for what a broker may deliver again, with the numbers; `undefined`: it is not. */
export function tooShort(retentionMs: DurationMs, window: RedeliveryWindow): string | undefined {
  if (window !== 'for-ever' && window <= retentionMs) return undefined
  const kept = window === 'for-ever' ? 'for ever' : `for ${window} ms`
  const gap = window === 'for-ever' ? 'any time after' : `up to ${window - retentionMs} ms after`
  return `the broker may deliver a message again ${kept}, done is kept for ${retentionMs} ms (retentionMs): ${gap} that it would run again; raise retentionMs, or see onBeyondRetention`
}
