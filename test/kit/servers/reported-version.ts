import type { Endpoint } from './catalogue.ts'
import { withMariadb, withPostgres, withRabbit, withRedis } from './clients.ts'
import type { Versioned } from './versions.ts'

/** Product and version that a server reports. */
export async function reportedVersion(name: Versioned, endpoint: Endpoint): Promise<string> {
  return REPORTED[name](endpoint)
}

const REPORTED: Readonly<Record<Versioned, (url: Endpoint) => Promise<string>>> = {
  async redis(url) {
    const info = await withRedis(url, (redis) => redis.info('server'))
    const fact = (name: string): string | undefined => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1]
    // Valkey reports as redis_version the last Redis version that it is compatible with.
    const valkey = fact('valkey_version')
    return valkey === undefined ? `Redis ${fact('redis_version')}` : `Valkey ${valkey}`
  },
  async postgres(url) {
    const { rows } = await withPostgres(url, (client) =>
      client.query<{ server_version: string }>('show server_version'),
    )
    return `PostgreSQL ${rows[0]?.server_version}`
  },
  async mariadb(url) {
    const [rows] = await withMariadb(url, (connection) => connection.query('select version() as version'))
    const { version } = (rows as [{ version: string }])[0]
    return version.includes('MariaDB') ? `MariaDB ${version}` : `MySQL ${version}`
  },
  async rabbitmq(url) {
    return withRabbit(url, async ({ connection }) => `RabbitMQ ${connection.serverProperties.version}`)
  },
}
