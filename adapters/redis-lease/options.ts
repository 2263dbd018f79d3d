import { checkNames, checkOneOf, checkWhole, ConfigError, type DurationMs } from '../../src/index.ts'
import type { Durability } from './durability.ts'

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
   * sent again. Claims and renewals are given up after a third of the lease, if that is earlier. At least twice
   * `durableWithinMs`, which a mark may wait for after it has waited for the one before.
   * @defaultValue 2_000; 5_000 with `durability: 'fsync'`
   */
  readonly timeoutMs?: DurationMs
  /**
   * What a mark must have reached before its message is settled:
   * - `memory`: the primary has answered. A failover, or a crash without append-only file, may forget what was marked last.
   * - `replicas`: so many `replicas` have it too (WAIT). A failover to one of those forgets nothing.
   * - `fsync`: the disk has it (WAITAOF), and that of so many `replicas`. Redis 7.2 or newer, `appendonly yes`; `appendfsync
   *   always`, or `everysec` where that can be trusted (not on Redis 7.4.0, 7.4.1 and Valkey): a mark then takes up to a second.
   *
   * A mark that has not come so far in time is asked for again, and nothing is settled. While it is waited for, its connection
   * does nothing else: give the store a client of its own. Results of other processes are waited for as well before a
   * duplicate is settled.
   * @defaultValue 'memory'
   */
  readonly durability?: Durability['kind']
  /**
   * How many replicas. To survive any failover, all that may be promoted.
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
const KNOWN: { readonly [O in keyof Required<LeaseOptions>]: true } = {
  prefix: true,
  shards: true,
  timeoutMs: true,
  durability: true,
  replicas: true,
  durableWithinMs: true,
}
/** A minute without an answer helps nobody: leases are counted in seconds. */
const MAX_TIMEOUT_MS = 60_000
const MAX_REPLICAS = 100

/** @throws ConfigError `CONFIG_INVALID` */
export function resolveOptions(options: LeaseOptions, problems: string[] = []): ResolvedLease {
  checkNames('', options, { known: { redis: true, ...KNOWN } }, problems)
  const { prefix = DEFAULTS.prefix, shards = DEFAULTS.shards, durability: kind = DEFAULTS.durability } = options
  checkOneOf('durability', kind, Object.keys(DEFAULTS.of), problems)
  if (typeof prefix !== 'string' || !/^[^\s{}]{1,64}$/.test(prefix)) {
    problems.push(`prefix: expected 1 to 64 characters without braces and whitespace, got '${prefix}'`)
  }
  checkWhole('shards', shards, problems, { most: 256 })
  const { timeoutMs = (DEFAULTS.of[kind] ?? DEFAULTS.of.memory).timeoutMs } = options
  if (!(typeof timeoutMs === 'number' && timeoutMs > 0 && timeoutMs <= MAX_TIMEOUT_MS)) {
    problems.push(`timeoutMs: expected more than 0 and at most ${MAX_TIMEOUT_MS}, got ${String(timeoutMs)}`)
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
    problems.push(`durableWithinMs: expected more than 0, got ${String(withinMs)}`)
  else if (timeoutMs < 2 * withinMs) {
    problems.push(`timeoutMs: expected at least twice durableWithinMs (${withinMs}), got ${timeoutMs}`)
  }
  return { kind, replicas, withinMs }
}
