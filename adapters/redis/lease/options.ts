import { checkOneOf, checkWhole, ConfigError, shown, type DurationMs } from '../../../src/spi.ts'
import type { Durability } from './durability.ts'

/** Options of leases in Redis, the same for every client. */
export interface LeaseOptions {
  /**
   * Prefix of every key name: `prefix:{shard}:digest`. Another prefix is another store: messages that were done under
   * the old one are handled again. 1 to 64 characters, without braces and whitespace.
   * @defaultValue 'co'
   */
  readonly prefix?: string
  /**
   * The number of cluster slots over which keys are spread, 1 to 256. It is part of every key, so another number is
   * another store as well. A cluster gets one script call for each shard of a batch; a single server gets the batch in
   * one call.
   * @defaultValue 16
   */
  readonly shards?: number
  /**
   * How long the store waits for an answer to a call, in milliseconds, whatever the client does. After that the outcome
   * is unknown, and the same call is sent again. Claims and renewals wait at most a third of the lease. Must be at
   * least twice `durableWithinMs`, because a mark may have to wait for the one before it.
   * @defaultValue 2_000; 5_000 with `durability: 'fsync'`
   */
  readonly timeoutMs?: DurationMs
  /**
   * How durable a mark must be before its message is settled:
   * - `memory`: the primary has answered. A failover, or a crash without append-only file, may lose the latest marks.
   * - `replicas`: that many `replicas` have it as well (WAIT). A failover to one of them loses nothing.
   * - `fsync`: it is synced to the disk of the primary (WAITAOF), and of that many `replicas`. Requires Redis 7.2 or
   *   newer, `appendonly yes`, and `appendfsync always`, or `everysec` where WAITAOF can be trusted with it (not on
   *   Redis 7.4.0, 7.4.1 and Valkey): a mark then takes up to a second.
   *
   * If a mark does not get that far in time, it is sent again, and nothing is settled. The connection does nothing else
   * while it waits, so give the store a client of its own. The store also waits for results of other processes before a
   * duplicate is settled.
   * @defaultValue 'memory'
   */
  readonly durability?: Durability['kind']
  /**
   * The number of replicas. To survive any failover, give the number of all replicas that may be promoted.
   * @defaultValue 1 with `replicas`, 0 with `fsync`
   */
  readonly replicas?: number
  /**
   * How long one wait for replicas or for the disk may take, in milliseconds.
   * @defaultValue 500 with `replicas`, 2_000 with `fsync`
   */
  readonly durableWithinMs?: DurationMs
}

export interface ResolvedLease {
  readonly prefix: string
  readonly shards: number
  readonly timeoutMs: DurationMs
  readonly durability: Durability
}

const DEFAULTS = {
  prefix: 'co',
  shards: 16,
  durability: 'memory',
  of: {
    memory: { timeoutMs: 2_000, replicas: 0, durableWithinMs: 0 },
    replicas: { timeoutMs: 2_000, replicas: 1, durableWithinMs: 500 },
    fsync: { timeoutMs: 5_000, replicas: 0, durableWithinMs: 2_000 },
  },
} as const
/** Every option that all leases on Redis have. */
export const LEASE_OPTIONS: Record<keyof LeaseOptions, true> = {
  prefix: true,
  shards: true,
  timeoutMs: true,
  durability: true,
  replicas: true,
  durableWithinMs: true,
}
/** A longer timeout helps nobody: leases last seconds. */
const MAX_TIMEOUT_MS = 60_000
const MAX_REPLICAS = 100

/** @throws ConfigError `CONFIG_INVALID` */
export function resolveOptions(options: LeaseOptions, problems: string[] = []): ResolvedLease {
  const { prefix = DEFAULTS.prefix, shards = DEFAULTS.shards, durability: kind = DEFAULTS.durability } = options
  checkOneOf('durability', kind, Object.keys(DEFAULTS.of), problems)
  if (typeof prefix !== 'string' || !/^[^\s{}]{1,64}$/.test(prefix)) {
    problems.push(`prefix: expected 1 to 64 characters without braces and whitespace, got '${prefix}'`)
  }
  checkWhole('shards', shards, problems, { most: 256 })
  const { timeoutMs = (DEFAULTS.of[kind] ?? DEFAULTS.of.memory).timeoutMs } = options
  if (!(typeof timeoutMs === 'number' && timeoutMs > 0 && timeoutMs <= MAX_TIMEOUT_MS)) {
    problems.push(`timeoutMs: expected more than 0 and at most ${MAX_TIMEOUT_MS}, got ${shown(timeoutMs)}`)
  }
  const durability = resolveDurability(kind, options, timeoutMs, problems)
  if (problems.length > 0) throw new ConfigError(problems)
  return { prefix, shards, timeoutMs, durability }
}

function resolveDurability(
  kind: Durability['kind'],
  options: LeaseOptions,
  timeoutMs: DurationMs,
  problems: string[],
): Durability {
  switch (kind) {
    case 'memory':
      return resolveMemory(options, problems)
    case 'replicas':
    case 'fsync':
      return resolveWaiting(kind, options, timeoutMs, problems)
  }
}

function resolveMemory(options: LeaseOptions, problems: string[]): Durability {
  for (const name of ['replicas', 'durableWithinMs'] as const) {
    if (options[name] !== undefined)
      problems.push(`${name}: expected durability 'replicas' or 'fsync' with it, got 'memory'`)
  }
  return { kind: 'memory' }
}

function resolveWaiting(
  kind: 'replicas' | 'fsync',
  options: LeaseOptions,
  timeoutMs: DurationMs,
  problems: string[],
): Durability {
  const defaults = DEFAULTS.of[kind]
  const { replicas = defaults.replicas, durableWithinMs: withinMs = defaults.durableWithinMs } = options
  if (kind === 'replicas' || replicas !== 0) checkWhole('replicas', replicas, problems, { most: MAX_REPLICAS })
  if (!(typeof withinMs === 'number' && withinMs > 0))
    problems.push(`durableWithinMs: expected more than 0, got ${shown(withinMs)}`)
  else if (timeoutMs < 2 * withinMs) {
    problems.push(`timeoutMs: expected at least twice durableWithinMs (${withinMs}), got ${timeoutMs}`)
  }
  return { kind, replicas, withinMs }
}
