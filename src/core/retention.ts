import { longestBackoffMs, type Backoff } from './backoff.ts'
import { durationText } from './duration-text.ts'
import type { DurationMs, EpochMs } from './units.ts'

/** How long a broker can redeliver a message that was handled. `for-ever`: it has no time limit. */
export type RedeliveryWindow = DurationMs | 'for-ever'

/** Allowed difference between the clocks of producers, brokers and this process. */
const CLOCK_MARGIN_MS = 60_000
/** Largest margin, as a share of the retention. It applies to short retentions. */
const LARGEST_MARGIN = 0.1

/**
 * For a message older than this, the absence of a record proves nothing: the record may have been removed by now. The
 * horizon lies a clock margin later than the end of the retention, because the timestamp comes from the producer, whose
 * clock may be ahead.
 */
export function horizonOf(now: EpochMs, retentionMs: DurationMs): EpochMs {
  return now - retentionMs + Math.min(CLOCK_MARGIN_MS, retentionMs * LARGEST_MARGIN)
}

export interface AttemptTimes {
  readonly leaseMs: DurationMs
  readonly maxAttempts: number
  readonly handlerTimeoutMs: DurationMs
  readonly graceMs: DurationMs
  readonly backoff: Backoff
}

/**
 * The longest time between two claims of a message that waits in its lane, with its sum as text. Each claim renews the
 * retention of the record, so a record must outlast this time, however many attempts there are.
 */
export function longestAttempt(times: AttemptTimes): { readonly ms: DurationMs; readonly sum: string } {
  const { leaseMs, maxAttempts, handlerTimeoutMs, graceMs, backoff } = times
  const delayMs = maxAttempts === 1 ? 0 : longestBackoffMs(maxAttempts - 1, backoff)
  return {
    ms: leaseMs + handlerTimeoutMs + graceMs + delayMs,
    sum: `${leaseMs} + ${handlerTimeoutMs} + ${graceMs} + ${delayMs}`,
  }
}

/** The longest sum of this many delays in a row. */
function longestDelaysMs(count: number, backoff: Backoff): DurationMs {
  let sum = 0
  for (let failures = 1; failures <= count; failures++) {
    const delayMs = longestBackoffMs(failures, backoff)
    // From there on all are the same.
    if (delayMs === longestBackoffMs(failures + 1, backoff)) return sum + (count - failures + 1) * delayMs
    sum += delayMs
  }
  return sum
}

/** Everything that can cause a redelivery. A fact that is left out counts as zero. */
export interface RedeliveryFacts {
  /** Kafka: the largest `retention.ms` of the topics; -1 in the broker is `for-ever`. */
  readonly topicRetentionMs?: RedeliveryWindow
  /** RabbitMQ: message TTL of the queue. A queue without one holds messages `for-ever`. */
  readonly queueTtlMs?: RedeliveryWindow
  readonly leaseMs?: DurationMs
  /** @defaultValue 1 */
  readonly maxAttempts?: number
  readonly handlerTimeoutMs?: DurationMs
  readonly graceMs?: DurationMs
  /** The delays before further attempts: the backoff of the lane, or one delay for each retry place. */
  readonly delays?: Backoff | readonly DurationMs[]
}

export interface RetentionAdvice {
  readonly retentionMs: DurationMs
  /** False if something can outlast it, such as a broker that keeps messages for ever. */
  readonly isEnough: boolean
  /** The sum, one line for each part. */
  readonly because: readonly string[]
}

const HOUR_MS = 3_600_000
/** Assumed limit for a broker without one: the length of an outage that nobody attends to. */
const OUTAGE_MS = 7 * 24 * HOUR_MS

/** Computes the advice from checked facts. src/consumer/suggest-retention.ts checks them. */
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
        `${what} keeps messages for ever, which no retention outlasts: ${durationText(OUTAGE_MS)} are taken; what is older is for onBeyondRetention to decide`,
      )
    } else because.push(`${what} keeps messages for ${durationText(window)}`)
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
      `then it may be under way for ${durationText(handlingMs)}: a lease of ${durationText(leaseMs)}, ${maxAttempts} attempts of ${durationText(handlerTimeoutMs + graceMs)}, ${durationText(delaysMs)} between them`,
    )
  }
  because.push(`clocks may differ by ${durationText(CLOCK_MARGIN_MS)}`)
  const retentionMs = Math.ceil((windowMs + handlingMs + CLOCK_MARGIN_MS) / HOUR_MS) * HOUR_MS
  because.push(`in whole hours: ${durationText(retentionMs)}`)
  return { retentionMs, isEnough, because }
}

function delaysOf(delays: RedeliveryFacts['delays'], maxAttempts: number): DurationMs {
  if (delays === undefined) return 0
  if ('initialMs' in delays) return longestDelaysMs(maxAttempts - 1, delays)
  return delays.reduce((sum, delayMs) => sum + delayMs, 0)
}

/** Why a retention is shorter than the redelivery window, with the numbers; `undefined` if it is not. */
export function tooShort(retentionMs: DurationMs, window: RedeliveryWindow): string | undefined {
  if (window !== 'for-ever' && window <= retentionMs) return undefined
  const kept = window === 'for-ever' ? 'for ever' : `for ${durationText(window)}`
  const gap = window === 'for-ever' ? 'any time after' : `up to ${durationText(window - retentionMs)} after`
  return `the broker may deliver a message again ${kept}, done is kept for ${durationText(retentionMs)} (retentionMs): ${gap} that it would run again; raise retentionMs, or see onBeyondRetention`
}
