import {
  ConfigError,
  ELSEWHERE,
  matching,
  millis,
  needed,
  oneOf,
  optionsOf,
  or,
  where,
  whole,
  type Complete,
  type DurationMs,
  type NamesOf,
  type Table,
  nowCalled,
} from '../../src/internal.ts'
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
  readonly queryTimeoutMs?: DurationMs
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

/** Defaults that depend on the durability. */
const BY_DURABILITY = {
  memory: { queryTimeoutMs: 2_000, replicas: 0, durableWithinMs: 0 },
  replicas: { queryTimeoutMs: 2_000, replicas: 1, durableWithinMs: 500 },
  fsync: { queryTimeoutMs: 5_000, replicas: 0, durableWithinMs: 2_000 },
} as const

type WithoutDefault = 'queryTimeoutMs' | 'replicas' | 'durableWithinMs'

export const STORE: Table<RedisStoreOptions, WithoutDefault> = {
  redis: needed(where('a client of ioredis or node-redis', isClient, { got: shownClient })),
  prefix: or('co', matching('1 to 64 characters without braces and whitespace', /^[^\s{}]{1,64}$/)),
  shards: or(16, whole({ most: 256 })),
  // A longer timeout helps nobody: leases last seconds.
  queryTimeoutMs: millis({ most: 60_000 }),
  durability: or('memory', oneOf('memory', 'replicas', 'fsync')),
  replicas: whole({ least: 0, most: 100 }),
  durableWithinMs: millis(),
  [ELSEWHERE]: { timeoutMs: nowCalled('queryTimeoutMs') },
}

export const LEASE: Table<RedisLeaseOptions, WithoutDefault> = {
  ...STORE,
  marks: or('after-handler', oneOf('after-handler', 'before-handler')),
}

type Checked = Complete<RedisStoreOptions, WithoutDefault> & Pick<RedisLeaseOptions, 'marks'>

/** @param of - the function of the user. @throws ConfigError `CONFIG_INVALID`, with all problems at once */
export function resolveOptions<Given extends RedisStoreOptions, Without extends NamesOf<Given>>(
  of: string,
  table: Table<Given, Without>,
  given: Given,
): { readonly resolved: ResolvedOptions; readonly options: Complete<Given, Without> } {
  // None of the many properties of a client is an option.
  if (isClient(given))
    throw new ConfigError([`${of}: redis: expected options, { redis: client }, got the client itself`])
  const all = optionsOf(of, table, given, (options, problems) => problemsOf(options as unknown as Checked, problems))
  const { redis, prefix, shards, marks, ...rest } = all as unknown as Checked
  const { queryTimeoutMs, replicas, durableWithinMs: withinMs } = timesOf(rest)
  const durability: Durability =
    rest.durability === 'memory' ? { kind: 'memory' } : { kind: rest.durability, replicas, withinMs }
  const resolved = { redis: portOf(redis), prefix, shards, timeoutMs: queryTimeoutMs, durability }
  return { resolved: { ...resolved, marksFirst: marks === 'before-handler' }, options: all }
}

function timesOf(options: Pick<Checked, 'durability' | WithoutDefault>): {
  readonly queryTimeoutMs: DurationMs
  readonly replicas: number
  readonly durableWithinMs: DurationMs
} {
  const usual = BY_DURABILITY[options.durability]
  const { queryTimeoutMs = usual.queryTimeoutMs, replicas = usual.replicas } = options
  return { queryTimeoutMs, replicas, durableWithinMs: options.durableWithinMs ?? usual.durableWithinMs }
}

function problemsOf(options: Checked, problems: string[]): void {
  const { durability } = options
  if (durability === 'memory') {
    for (const name of ['replicas', 'durableWithinMs'] as const) {
      if (options[name] !== undefined)
        problems.push(`${name}: expected durability "replicas" or "fsync" with it, got "memory"`)
    }
    return
  }
  const { queryTimeoutMs, replicas, durableWithinMs } = timesOf(options)
  if (durability === 'replicas' && replicas === 0) {
    problems.push('replicas: expected at least 1 with durability "replicas", got 0')
  }
  if (queryTimeoutMs < 2 * durableWithinMs) {
    problems.push(`queryTimeoutMs: expected at least twice durableWithinMs (${durableWithinMs}), got ${queryTimeoutMs}`)
  }
}
