import { checkNames, ConfigError, type DurationMs } from '../../src/index.ts'

/** Of a lease in Redis, whatever the client. */
export interface LeaseOptions {
  /**
   * Starts the name of every key, `prefix:{shard}:digest`. Another prefix is another store: what was done under the old
   * one will be done again. 1 to 64 characters, without braces and whitespace.
   * @defaultValue 'co'
   */
  readonly prefix?: string
  /**
   * Over how many slots of a cluster the keys are spread, 1 to 256. It is part of every key, so another number is another
   * store too. A cluster gets one script for each shard of a batch; a single server gets the batch as it is.
   * @defaultValue 16
   */
  readonly shards?: number
  /**
   * When a call is given up, in milliseconds, whatever the client does: its outcome is then unknown, and the same call is
   * sent again. Claims and renewals are given up after a third of the lease, if that is earlier.
   * @defaultValue 2_000
   */
  readonly timeoutMs?: DurationMs
}

export type ResolvedLease = Required<LeaseOptions>

const DEFAULTS = { prefix: 'co', shards: 16, timeoutMs: 2_000 } satisfies Required<LeaseOptions>
/** A minute without an answer helps nobody: leases are counted in seconds. */
const MAX_TIMEOUT_MS = 60_000

/** @throws ConfigError `CONFIG_INVALID` */
export function resolveOptions(
  { prefix, shards, timeoutMs, ...others }: LeaseOptions,
  problems: string[] = [],
): ResolvedLease {
  const resolved = {
    prefix: prefix ?? DEFAULTS.prefix,
    shards: shards ?? DEFAULTS.shards,
    timeoutMs: timeoutMs ?? DEFAULTS.timeoutMs,
  }
  checkNames('', others, { known: { redis: true, ...DEFAULTS } }, problems)
  if (!/^[^\s{}]{1,64}$/.test(resolved.prefix)) {
    problems.push(`prefix: expected 1 to 64 characters without braces and whitespace, got '${resolved.prefix}'`)
  }
  if (!Number.isInteger(resolved.shards) || resolved.shards < 1 || resolved.shards > 256) {
    problems.push(`shards: expected a whole number from 1 to 256, got ${resolved.shards}`)
  }
  if (!(resolved.timeoutMs > 0 && resolved.timeoutMs <= MAX_TIMEOUT_MS)) {
    problems.push(`timeoutMs: expected more than 0 and at most ${MAX_TIMEOUT_MS}, got ${resolved.timeoutMs}`)
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return resolved
}
