import { ConfigError, durationText, type Capacity, type DurationMs } from '../../../src/internal.ts'
import { MOST_PREFETCH, type RabbitSettings } from './resolve.ts'

/** The settings for consuming, with the prefetch computed from the pipeline's capacity. */
export type FittedSettings = RabbitSettings & { readonly prefetch: number; readonly maxAttempts: number }

const LEAST_DEFAULT_PREFETCH = 10
/** What is fetched may wait for a `limit` for this part of the consumer timeout: other processes may share its rate. */
const SHARE_OF_TIMEOUT = 0.1

/** The default of RabbitMQ since 3.8.17. */
export const BROKERS_TIMEOUT_MS: DurationMs = 30 * 60_000

/**
 * Checks prefetch and consumer timeout against the capacity of the pipeline. `warning` is `undefined` if no limit is
 * close.
 *
 * @throws ConfigError `CONFIG_INVALID`
 */
export function fitToCapacity(
  settings: RabbitSettings,
  capacity: Capacity,
): { readonly settings: FittedSettings; readonly warning: string | undefined } {
  const { handlers, claims, leaseMs, longestRunMs, maxAttempts, perSecond = Number.POSITIVE_INFINITY } = capacity
  const { consumerTimeoutMs } = settings
  const timeoutMs = consumerTimeoutMs ?? BROKERS_TIMEOUT_MS
  const enough = Math.min(MOST_PREFETCH, Math.max(LEAST_DEFAULT_PREFETCH, 2 * claims))
  const byRate = Math.max(1, Math.floor((perSecond * timeoutMs * SHARE_OF_TIMEOUT) / 1_000))
  const { prefetch = Math.min(enough, byRate) } = settings
  const problems: string[] = []
  if (settings.prefetch !== undefined && prefetch < Math.min(handlers, MOST_PREFETCH)) {
    problems.push(
      `prefetch: expected at least the ${handlers} handlers that the consumer runs at once, got ${prefetch}: the others would never run. Raise it (at most ${MOST_PREFETCH}), leave it out, or lower concurrency or transactions of the consumer`,
    )
  }
  for (const [what, lengthMs] of [
    ['the lease', leaseMs],
    ['the longest run of a handler, grace included', longestRunMs],
  ] as const) {
    if (consumerTimeoutMs === undefined || consumerTimeoutMs > lengthMs) continue
    problems.push(
      `consumerTimeoutMs: expected more than ${what} (${lengthMs}), got ${consumerTimeoutMs}: the broker would take away what is still handled`,
    )
  }
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `RabbitMQ: ${problem}`))
  return {
    settings: Object.freeze({ ...settings, prefetch, maxAttempts }),
    warning:
      nearTimeout(Math.max(leaseMs, longestRunMs), consumerTimeoutMs) ??
      slowPrefetch(settings.prefetch, perSecond, timeoutMs),
  }
}

function nearTimeout(longestMs: DurationMs, consumerTimeoutMs: DurationMs | undefined): string | undefined {
  if (consumerTimeoutMs !== undefined || BROKERS_TIMEOUT_MS >= 2 * longestMs) return undefined
  return `a message may be under way for ${durationText(longestMs)}, and the broker's default consumer_timeout is ${durationText(BROKERS_TIMEOUT_MS)}: raise it there, and say so by consumerTimeoutMs`
}

/** The last of what was fetched waits for all before it. */
function slowPrefetch(prefetch: number | undefined, perSecond: number, timeoutMs: DurationMs): string | undefined {
  if (prefetch === undefined) return undefined
  const waitMs = Math.ceil(prefetch / perSecond) * 1_000
  if (waitMs <= timeoutMs / 2) return undefined
  return `prefetch: ${prefetch} messages at ${perSecond} a second (limit) wait up to ${durationText(waitMs)}, and the broker takes back what is unacked for ${durationText(timeoutMs)}: lower prefetch, or leave it out`
}
