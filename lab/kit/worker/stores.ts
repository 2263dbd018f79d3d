// Clients are loaded where they are used: what a worker does not need must not make its start longer.
import type { Store } from '../../../src/index.ts'
import type { WorkerTransaction } from './module.ts'
import type { MariadbSpec, PostgresSpec, RedisSpec, StoreSpec } from './spec.ts'

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
  const options = { pool, ...(schema !== undefined && { schema }), ...spec.options }
  switch (strategy) {
    case 'inbox':
      return postgresInbox(options)
    case 'offsets':
      return postgresOffsets(options)
    case 'lease':
      return postgresLease(options)
  }
}

async function onMariadb({ url, strategy }: MariadbSpec): Promise<Store<WorkerTransaction>> {
  const { createPool } = await import('mysql2/promise')
  const { mysqlInbox, mysqlLease } = await import('../../../adapters/mysql2/index.ts')
  const pool = createPool({ uri: url, connectionLimit: 6 })
  return strategy === 'lease' ? mysqlLease({ pool }) : mysqlInbox({ pool })
}
