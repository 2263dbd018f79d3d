// Clients are loaded where they are used: what a worker does not need must not make its start longer.
import type { PostgresOutbox, PostgresOutboxOptions } from '../../../adapters/pg/index.ts'
import type { Store } from '../../../src/index.ts'
import type { WorkerTransaction } from './module.ts'
import type { MariadbSpec, OutboxSpec, PostgresSpec, RedisSpec, StoreSpec } from './spec.ts'

/** Its connections end with the process. */
export function storeOf(spec: StoreSpec, name: string): Promise<Store<WorkerTransaction>> {
  switch (spec.on) {
    case 'redis':
      return onRedis(spec)
    case 'postgres':
      return onPostgres(spec, name)
    case 'mariadb':
      return onMariadb(spec)
  }
}

async function onRedis({ url, isCluster, client, options }: RedisSpec): Promise<Store<WorkerTransaction>> {
  const { Cluster, Redis } = await import('ioredis')
  const { redisLease } = await import('../../../adapters/redis/index.ts')
  const redis = isCluster === true ? new Cluster([url]) : new Redis(url, client ?? {})
  redis.on('error', () => {})
  return redisLease({ redis, ...options })
}

/** Without a listener for the errors of its pool: the library must be enough. */
async function onPostgres(spec: PostgresSpec, name: string): Promise<Store<WorkerTransaction>> {
  const { url, strategy, schema, connections = 6, applicationName = name } = spec
  const { Pool } = await import('pg')
  const { postgresInbox, postgresLease, postgresOffsets } = await import('../../../adapters/pg/index.ts')
  const pool = new Pool({
    connectionString: url,
    max: connections,
    application_name: applicationName,
    ...(schema !== undefined && { options: `-c search_path=${schema}` }),
  })
  const place = { pool, ...(schema !== undefined && { schema }) }
  const outbox = spec.outbox && (await outboxOf(spec.outbox, place))
  const options = { ...place, ...spec.options, ...(outbox && { outbox }) }
  switch (strategy) {
    case 'inbox':
      return postgresInbox(options)
    case 'offsets':
      return postgresOffsets(options)
    case 'lease':
      return postgresLease(options)
  }
}

/** Its publishers end with the process. */
async function outboxOf(
  spec: OutboxSpec,
  place: Pick<PostgresOutboxOptions, 'pool' | 'schema'>,
): Promise<PostgresOutbox> {
  const { Kafka, logLevel } = await import('kafkajs')
  const onKafka = await import('../../../adapters/kafkajs/index.ts')
  const onRabbit = await import('../../../adapters/amqplib/index.ts')
  const { postgresOutbox } = await import('../../../adapters/pg/index.ts')
  const { kafka, rabbitmq } = spec
  const publishers = {
    ...(kafka && { kafka: onKafka.confirmedPublisher(new Kafka({ brokers: [...kafka], logLevel: logLevel.NOTHING })) }),
    ...(rabbitmq !== undefined && { rabbitmq: onRabbit.confirmedPublisher(rabbitmq) }),
  }
  return postgresOutbox({ ...place, publishers })
}

async function onMariadb({ url, strategy }: MariadbSpec): Promise<Store<WorkerTransaction>> {
  const { createPool } = await import('mysql2/promise')
  const { mysqlInbox, mysqlLease } = await import('../../../adapters/mysql2/index.ts')
  const pool = createPool({ uri: url, connectionLimit: 6 })
  return strategy === 'lease' ? mysqlLease({ pool }) : mysqlInbox({ pool })
}
