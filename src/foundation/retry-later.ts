import type { DurationMs, EpochMs } from '../core/units.ts'
import { ConsumeOnceError, hasCode } from './errors.ts'
import { ELSEWHERE, hasMethod, optionsOf, where, type Table } from './options.ts'

/** The longest time that a timer of Node can wait: 24.8 days. */
const LONGEST_MS = 2 ** 31 - 1

interface Why {
  /** For the log and the event. @defaultValue what was asked for */
  readonly message?: string
  readonly cause?: unknown
}

/** When to try again. Give exactly one of the two. */
export type RetryLaterOptions = Why &
  (
    | {
        /**
         * After so many milliseconds, as a provider's `Retry-After` says: all messages of its key of `limit` wait as long.
         * What is not whole is rounded up; at most 24.8 days.
         */
        readonly afterMs: DurationMs
        readonly at?: never
      }
    | {
        /** Not before this time: only this message waits. A time that is past is now; at most 24.8 days away. */
        readonly at: Date
        readonly afterMs?: never
      }
  )

const TABLE: Table<RetryLaterOptions, 'afterMs' | 'at' | 'message' | 'cause'> = {
  afterMs: where(
    `milliseconds from 0 to ${LONGEST_MS} (24.8 days, the longest timer)`,
    (value) => typeof value === 'number' && value >= 0 && value <= LONGEST_MS,
    { got: (value) => `${String(value)}: a Retry-After header has seconds or a date` },
  ),
  at: where('a valid Date', (value) => isDate(value) && !Number.isNaN(value.getTime())),
  message: where('text', (value) => typeof value === 'string'),
  cause: where('anything', () => true),
  [ELSEWHERE]: { after: 'it is called afterMs, in milliseconds' },
}

/**
 * Throw it from a handler that had no effect and is to run again later: because its provider says so (HTTP 429,
 * `Retry-After`), or because its time has not come. The message spends no attempt, up to `maxRetryLater` times in a row;
 * after that it counts as a failed attempt. It counts after `signal` has aborted too.
 *
 * @throws ConfigError `CONFIG_INVALID` for an `afterMs` that is no such number, or an `at` that is no date
 */
export class RetryLaterError extends ConsumeOnceError {
  override readonly name = 'RetryLaterError'
  readonly code = 'RETRY_LATER'
  readonly afterMs: DurationMs | undefined
  readonly at: Date | undefined

  constructor(options: RetryLaterOptions) {
    const { afterMs, at, message, cause } = optionsOf('RetryLaterError', TABLE, options, (given, problems) => {
      if ((given.afterMs === undefined) === (given.at === undefined)) {
        problems.push('afterMs, at: expected exactly one of the two')
      }
    })
    const usual = at === undefined ? 'a later attempt was asked for' : `not before ${at.toISOString()}`
    super(message ?? usual, cause === undefined ? undefined : { cause })
    this.afterMs = afterMs === undefined ? undefined : Math.ceil(afterMs)
    this.at = at
  }
}

/** What the error asks for, also that of another copy of the package. */
export interface Later {
  readonly forMs: DurationMs
  /** Its provider said so: others with its key wait too. */
  readonly isOfKey: boolean
}

/** `undefined`: it asks for nothing. */
export function laterOf(error: unknown, now: EpochMs): Later | undefined {
  if (!hasCode(error, 'RETRY_LATER')) return undefined
  const { afterMs, at } = error as { readonly afterMs?: unknown; readonly at?: unknown }
  const forMs = isDate(at) ? at.getTime() - now : afterMs
  return { forMs: bounded(forMs), isOfKey: !isDate(at) }
}

/** Of another realm too. */
function isDate(value: unknown): value is Date {
  return hasMethod(value, 'getTime')
}

function bounded(ms: unknown): DurationMs {
  return typeof ms === 'number' && ms >= 0 ? Math.min(ms, LONGEST_MS) : 0
}

/** As `ctx.retryAt`. */
export function retryAt(at: Date): never {
  throw new RetryLaterError({ at })
}
