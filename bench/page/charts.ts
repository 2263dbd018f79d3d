import { REPEATED } from '../contenders/crash/crash-figures.ts'
import { P50 } from '../contenders/latency/delays.ts'
import type { Chart } from './chart.ts'

/** The four pictures of docs/performance.md. */
export const CHARTS: readonly Chart[] = [
  {
    file: 'kafka.svg',
    title: 'Kafka: messages a second',
    unit: '/s',
    of: [
      { suite: 'kafka', scenario: 'redis', title: 'Kafka, leases in Redis, no-op handler' },
      { suite: 'kafka', scenario: 'postgres-batch', title: 'Kafka, inbox in Postgres, one statement for a batch' },
      { suite: 'kafka', scenario: 'postgres-handle', title: 'Kafka, inbox in Postgres, a statement for each message' },
      { suite: 'kafka', scenario: 'slow-handler', title: 'Kafka, leases in Redis, handler of 2 ms' },
    ],
  },
  {
    file: 'rabbitmq.svg',
    title: 'RabbitMQ: messages a second',
    unit: '/s',
    of: [
      { suite: 'rabbitmq', scenario: 'redis-quorum', title: 'RabbitMQ, leases in Redis, no-op handler' },
      { suite: 'rabbitmq', scenario: 'postgres-quorum', title: 'RabbitMQ, inbox in Postgres' },
    ],
  },
  {
    file: 'latency.svg',
    title: 'From the arrival in the process to the durable mark at 100 messages a second, median of each run',
    figure: P50,
    unit: ' ms',
    of: [
      { suite: 'latency', scenario: 'kafka-redis-100', title: 'Kafka, leases in Redis' },
      { suite: 'latency', scenario: 'kafka-postgres-100', title: 'Kafka, inbox in Postgres' },
      { suite: 'latency', scenario: 'rabbitmq-redis-100', title: 'RabbitMQ, leases in Redis' },
      { suite: 'latency', scenario: 'rabbitmq-postgres-100', title: 'RabbitMQ, inbox in Postgres' },
    ],
  },
  {
    file: 'crash.svg',
    title: 'Effects that happened twice after one kill -9 at full speed',
    figure: REPEATED,
    unit: '',
    of: [
      { suite: 'crash', scenario: 'kafka-redis', title: 'Kafka, leases in Redis' },
      { suite: 'crash', scenario: 'rabbitmq-redis', title: 'RabbitMQ, leases in Redis' },
      { suite: 'crash', scenario: 'kafka-postgres', title: 'Kafka, inbox in Postgres' },
    ],
  },
]
