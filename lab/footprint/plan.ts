/** A worker as it is deployed: one consumer, its health and its metrics. */
export const CASES = ['kafka-redis', 'rabbitmq-postgres'] as const
export type Case = (typeof CASES)[number]

export const TITLES: Readonly<Record<Case, string>> = {
  'kafka-redis': 'Kafka (kafkajs) and `redisLease`',
  'rabbitmq-postgres': 'RabbitMQ and `postgresInbox`',
}

/** What it is installed with, beside this package. */
export const PACKAGES: Readonly<Record<Case, readonly string[]>> = {
  'kafka-redis': ['kafkajs', 'ioredis', 'prom-client'],
  'rabbitmq-postgres': ['amqplib', 'pg', 'prom-client'],
}

export const PER_SECOND = 1_000
export const PAYLOAD_BYTES = 1_024
/** How long the provider takes to answer a handler of a lease. Those of an inbox insert a row. */
export const PROVIDER_MS = 5

/** Settings of the worker, as JSON in its only argument. */
export interface WorkerSettings {
  readonly what: Case
  /** Of the broker: an address. */
  readonly broker: string
  /** Topic or queue, and group. */
  readonly place: string
  readonly storeUrl: string
}
