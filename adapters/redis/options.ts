import { checkNames, checkOneOf, checkWhole, ConfigError, givenOf, shown, type DurationMs } from '../../src/spi.ts'
import type { Durability } from './calls/durability.ts'
import { isClient, portOf, shownClient, type RedisLike } from './clients/client.ts'
import type { RedisPort } from './clients/redis-port.ts'

/** Options of every store in Redis. */
export interface RedisStoreOptions {
  /**
   * A client of ioredis (`Redis` or `Cluster`), or a connected one of node-redis (`createClient()`, `createClientPool()`
   * or `createCluster()`), of a primary of version 6 or newer. You close it.
   */
  readonly redis: RedisLike
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

export interface RedisLeaseOptions extends RedisStoreOptions {
  /**
   * When the store writes that a message is done:
   * - `after-handler`: a message is never lost, and may run twice.
   * - `before-handler`: the claim is the mark, as by the SET NX of the textbooks. A message is handled **at most once**:
   *   if the process dies after the claim, or the outcome of the handler is unknown, it is lost, and each redelivery is
   *   settled as a duplicate. A handler that throws is tried again. `leaseMs` means nothing then. The records are the
   *   same.
   * @defaultValue 'after-handler'
   */
  readonly marks?: 'after-handler' | 'before-handler'
}

export interface ResolvedOptions {
  readonly redis: RedisPort
  readonly prefix: string
  readonly shards: number
  readonly timeoutMs: DurationMs
  readonly durability: Durability
  readonly marksFirst: boolean
}

const DEFAULTS = {
  prefix: 'co',
  shards: 16,
  marks: 'after-handler',
  durability: 'memory',
  of: {
    memory: { timeoutMs: 2_000, replicas: 0, durableWithinMs: 0 },
    replicas: { timeoutMs: 2_000, replicas: 1, durableWithinMs: 500 },
    fsync: { timeoutMs: 5_000, replicas: 0, durableWithinMs: 2_000 },
  },
} as const
export const STORE_OPTIONS: Record<keyof RedisStoreOptions, true> = {
  redis: true,
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

/**
 * @param of - the function of the user
 * @param known - its options
 * @throws ConfigError `CONFIG_INVALID`
 */
export function resolveOptions<Options extends RedisLeaseOptions>(
  of: string,
  options: Options,
  known: Readonly<Record<keyof Options, true>>,
): ResolvedOptions {
  // None of the many properties of a client is an option.
  if (isClient(options)) throw new ConfigError(['redis: expected options, { redis: client }, got the client itself'])
  const given = givenOf(options)
  const { redis, prefix = DEFAULTS.prefix, shards = DEFAULTS.shards, marks = DEFAULTS.marks } = given
  const problems: string[] = []
  if (!isClient(redis)) {
    problems.push(`redis: expected a client of ioredis or node-redis, got ${shownClient(redis)}`)
  }
  checkNames<object>('', given, { of, known }, problems)
  checkOneOf('marks', marks, ['after-handler', 'before-handler'], problems)
  const { durability: kind = DEFAULTS.durability } = given
  checkOneOf('durability', kind, Object.keys(DEFAULTS.of), problems)
  if (typeof prefix !== 'string' || !/^[^\s{}]{1,64}$/.test(prefix)) {
    problems.push(`prefix: expected 1 to 64 characters without braces and whitespace, got '${prefix}'`)
  }
  checkWhole('shards', shards, problems, { most: 256 })
  const { timeoutMs = (DEFAULTS.of[kind] ?? DEFAULTS.of.memory).timeoutMs } = given
  if (!(typeof timeoutMs === 'number' && timeoutMs > 0 && timeoutMs <= MAX_TIMEOUT_MS)) {
    problems.push(`timeoutMs: expected more than 0 and at most ${MAX_TIMEOUT_MS}, got ${shown(timeoutMs)}`)
  }
  const durability = resolveDurability(kind, given, timeoutMs, problems)
  if (problems.length > 0) throw new ConfigError(problems)
  return { redis: portOf(redis), prefix, shards, timeoutMs, durability, marksFirst: marks === 'before-handler' }
}

function resolveDurability(
  kind: Durability['kind'],
  options: RedisStoreOptions,
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

function resolveMemory(options: RedisStoreOptions, problems: string[]): Durability {
  for (const name of ['replicas', 'durableWithinMs'] as const) {
    if (options[name] !== undefined)
      problems.push(`${name}: expected durability 'replicas' or 'fsync' with it, got 'memory'`)
  }
  return { kind: 'memory' }
}

function resolveWaiting(
  kind: 'replicas' | 'fsync',
  options: RedisStoreOptions,
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
