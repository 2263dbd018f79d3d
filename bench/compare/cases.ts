/** A contender of a suite that shows what a change costs. */
export interface Case {
  readonly name: string
  readonly suite: string
  readonly scenario: string
  readonly contender: string
  /** Unless `--n` is given. */
  readonly messages: number
}

/** The hot paths: brokers, stores, and the library alone. */
export const CASES: readonly Case[] = [
  {
    name: 'kafka-redis-256',
    suite: 'kafka',
    scenario: 'redis',
    contender: 'redisLease, 256 at once',
    messages: 200_000,
  },
  { name: 'kafka-redis', suite: 'kafka', scenario: 'redis', contender: 'redisLease', messages: 200_000 },
  {
    name: 'kafka-postgres-handle',
    suite: 'kafka',
    scenario: 'postgres-handle',
    contender: 'postgresInbox',
    messages: 50_000,
  },
  {
    name: 'kafka-postgres-batch',
    suite: 'kafka',
    scenario: 'postgres-batch',
    contender: 'postgresInbox, handleBatch of 500',
    messages: 100_000,
  },
  {
    name: 'rabbitmq-redis',
    suite: 'rabbitmq',
    scenario: 'redis-quorum',
    contender: 'redisLease',
    messages: 100_000,
  },
  {
    name: 'kafka-memory',
    suite: 'kafka',
    scenario: 'no-store',
    contender: 'runKafka, memoryStore',
    messages: 300_000,
  },
  { name: 'cpu', suite: 'cpu', scenario: 'batches', contender: 'handle', messages: 200_000 },
]
