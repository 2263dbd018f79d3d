/** Where a figure was recorded: in `bench/results/<suite>.json`, or in a scene of `test/counts/expected.ts`, of 1,000 messages. */
type Origin =
  | { readonly suite: string; readonly scenario: string; readonly contender: string; readonly figure: string }
  | { readonly scene: string; readonly counts: readonly string[] }

export interface Cost {
  readonly value: number
  readonly from: Origin
}

/** What `--store` takes. */
export const STORES = ['redisLease', 'postgresLease', 'postgresInbox', 'mysqlInbox'] as const
export type StoreName = (typeof STORES)[number]
export const BROKERS = ['kafka', 'rabbitmq'] as const
export type BrokerName = (typeof BROKERS)[number]

/** What was recorded of one way to use a store. What is `undefined` was not recorded. */
export interface StoreCosts {
  readonly server: 'Redis' | 'Postgres' | 'MariaDB or MySQL'
  readonly strategy: 'lease' | 'inbox'
  /** Of a record that is done, its index included. */
  readonly bytesEach?: Cost
  /** Messages a second that one server has carried, with its client on the same two cores. */
  readonly rate?: Cost
  /** SETs, or rows inserted, updated and deleted. */
  readonly writes: Cost
  readonly commits?: Cost
  readonly bytesSent: Cost
  /** Microseconds of CPU of a consumer for each message, its broker's client included. */
  readonly cpu: Partial<Readonly<Record<BrokerName, Cost>>>
}

/** The scenes of `test/counts` deliver 1,000 messages, a fifth of them again. */
export const COUNTED = { deliveries: 1_000, handled: 800 } as const

/** Records among which a claim was measured, at most (suite `growth`). */
export const GROWN_TO = 10_000_000

/** A quorum queue of RabbitMQ, with a consumer that does nothing. */
export const QUEUE_RATE: Cost = recorded(116_515, 'rabbitmq', 'redis-quorum', 'adapter alone', 'rate')

/** With the digests of key and payload, and without them: what a payload of 1 KB costs the CPU of a consumer, at most. */
export const DIGESTS: Cost = recorded(1.8, 'cpu', 'batches', 'bare loop with digests', 'cpu')
export const NO_DIGESTS: Cost = recorded(0.7, 'cpu', 'batches', 'bare loop', 'cpu')

const ROWS = ['rows inserted', 'rows updated', 'rows deleted']

/** Every number is compared with what was recorded by `test/unit/cli/size-costs.test.ts`. */
const REDIS_LEASE: StoreCosts = {
  server: 'Redis',
  strategy: 'lease',
  bytesEach: recorded(160.8, 'memory', 'redis', 'redisLease', 'bytes each'),
  rate: recorded(147_465, 'redis', 'pairs-100', 'redisLease', 'rate'),
  writes: counted(1_600, 'Redis lease, ioredis, 64 handlers at once', 'set in scripts'),
  bytesSent: counted(128_808, 'Redis lease, ioredis, 64 handlers at once', 'bytes sent'),
  cpu: {
    kafka: recorded(19.7, 'kafka', 'redis', 'redisLease', 'cpu'),
    rabbitmq: recorded(24.2, 'rabbitmq', 'redis-quorum', 'redisLease', 'cpu'),
  },
}

const POSTGRES_LEASE: StoreCosts = {
  server: 'Postgres',
  strategy: 'lease',
  writes: counted(1_600, 'Postgres lease, 256 handlers at once', ...ROWS),
  commits: counted(20, 'Postgres lease, 256 handlers at once', 'statements'),
  bytesSent: counted(166_943, 'Postgres lease, 256 handlers at once', 'bytes sent'),
  cpu: {},
}

const POSTGRES_INBOX: StoreCosts = {
  server: 'Postgres',
  strategy: 'inbox',
  bytesEach: recorded(146.4, 'memory', 'postgres', 'postgresInbox', 'bytes each'),
  rate: recorded(12_839, 'kafka', 'postgres-handle', 'postgresInbox', 'rate'),
  writes: counted(838, 'Postgres inbox, handle', ...ROWS),
  commits: counted(24, 'Postgres inbox, handle', 'transactions'),
  bytesSent: counted(98_642, 'Postgres inbox, handle', 'bytes sent'),
  cpu: {
    kafka: recorded(63.3, 'kafka', 'postgres-handle', 'postgresInbox', 'cpu'),
    rabbitmq: recorded(81.9, 'rabbitmq', 'postgres-quorum', 'postgresInbox, handle', 'cpu'),
  },
}

const POSTGRES_INBOX_BATCH: StoreCosts = {
  ...POSTGRES_INBOX,
  rate: recorded(65_483, 'postgres', 'batch', 'postgresInbox', 'rate'),
  commits: counted(4, 'Postgres inbox, handleBatch', 'transactions'),
  bytesSent: counted(58_724, 'Postgres inbox, handleBatch', 'bytes sent'),
  cpu: {
    kafka: recorded(21.6, 'kafka', 'postgres-batch', 'postgresInbox, handleBatch of 500', 'cpu'),
    rabbitmq: recorded(44.4, 'rabbitmq', 'postgres-quorum', 'postgresInbox, handleBatch of 500', 'cpu'),
  },
}

const MYSQL_INBOX: StoreCosts = {
  server: 'MariaDB or MySQL',
  strategy: 'inbox',
  writes: counted(3_204, 'MariaDB inbox, handle', ...ROWS),
  commits: counted(38, 'MariaDB inbox, handle', 'commits'),
  bytesSent: counted(466_362, 'MariaDB inbox, handle', 'bytes sent'),
  cpu: {},
}

const MYSQL_INBOX_BATCH: StoreCosts = {
  ...MYSQL_INBOX,
  commits: counted(6, 'MariaDB inbox, handleBatch', 'commits'),
  bytesSent: counted(438_228, 'MariaDB inbox, handleBatch', 'bytes sent'),
}

/** Of a store with `handle` and with `handleBatch`; a lease has no batches. */
export const COSTS: Readonly<Record<StoreName, { readonly handle: StoreCosts; readonly handleBatch?: StoreCosts }>> = {
  redisLease: { handle: REDIS_LEASE },
  postgresLease: { handle: POSTGRES_LEASE },
  postgresInbox: { handle: POSTGRES_INBOX, handleBatch: POSTGRES_INBOX_BATCH },
  mysqlInbox: { handle: MYSQL_INBOX, handleBatch: MYSQL_INBOX_BATCH },
}

function recorded(value: number, suite: string, scenario: string, contender: string, figure: string): Cost {
  return { value, from: { suite, scenario, contender, figure } }
}

function counted(value: number, scene: string, ...counts: readonly string[]): Cost {
  return { value, from: { scene, counts } }
}

/** For people: `bench/results/memory.json: redis, redisLease, bytes each`. */
export function originText({ from }: Cost): string {
  if ('scene' in from) return `test/counts/expected.ts: ${from.scene}: ${from.counts.join(' + ')}`
  return `bench/results/${from.suite}.json: ${from.scenario}, ${from.contender}, ${from.figure}`
}
