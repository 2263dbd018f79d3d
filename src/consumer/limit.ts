import { whole, flag, func, having, needed, object, or, where, type Rule, type Table } from '../foundation/options.ts'
import type { Message } from '../ports/message.ts'
import type { SharedLimit } from '../ports/shared-limit.ts'

/** How fast handlers begin: for a provider that allows so many calls a second. */
export interface LimitOptions {
  /**
   * Messages whose handler begins, per second. Messages beyond it wait before their claim: no lease and no attempt is
   * spent. A number from 0.01, such as 0.5 for one every two seconds.
   */
  readonly perSecond: number
  /** How many may begin at once after a quiet time. @defaultValue a tenth of `perSecond`, at least 1 */
  readonly burst?: number
  /**
   * The key that a message belongs to, such as a tenant or the account at the provider. Keys take turns, so one with many
   * messages does not hold up the others. It must not throw; a message for which it throws, or returns no text, belongs to
   * the key `''`.
   * @defaultValue one key for all messages
   */
  readonly by?: (message: Message) => string
  /**
   * `false`: each key has a quota of its own. `true`: all keys share one quota, and take turns.
   * @defaultValue false
   */
  readonly together?: boolean
  /**
   * Shares the quota with other processes: `redisLimit({ redis, name })` or `postgresLimit({ pool, name })` of
   * `consume-once/rate-limiter-flexible`. While its server does not answer, nothing begins.
   * @defaultValue each process has the quota for itself
   */
  readonly shared?: SharedLimit
}

/** A limit that was checked. */
export interface Limit extends LimitOptions {
  readonly burst: number
  readonly together: boolean
}

const LEAST_PER_SECOND = 0.01
const MOST_PER_SECOND = 100_000

const TABLE: Table<LimitOptions, 'burst' | 'by' | 'shared'> = {
  perSecond: needed(
    where(
      `a number from ${LEAST_PER_SECOND} to ${MOST_PER_SECOND}`,
      (value) => typeof value === 'number' && value >= LEAST_PER_SECOND && value <= MOST_PER_SECOND,
    ),
  ),
  burst: whole({ most: MOST_PER_SECOND }),
  by: func(),
  together: or(false, flag()),
  shared: having('what redisLimit({ redis, name }) or postgresLimit({ pool, name }) returns', 'quota'),
}

export const LIMIT: Rule<LimitOptions> = object(TABLE)

/** @param read - as `LIMIT` has read it */
export function limitOf(read: LimitOptions | undefined): Limit | undefined {
  if (read === undefined) return undefined
  const { perSecond, burst = Math.max(1, Math.floor(perSecond / 10)), together = false } = read
  return Object.freeze({ ...read, burst, together })
}
