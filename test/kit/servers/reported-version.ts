import type { Endpoint } from './catalogue.ts'
import { withMariadb, withPostgres, withRabbit, withRedis } from './clients.ts'
import type { Versioned } from './versions.ts'

/** What a server says it is, by product and version. */
export async function reportedVersion(name: Versioned, endpoint: Endpoint): Promise<string> {
  return REPORTED[name](endpoint)
}

const REPORTED: Readonly<Record<Versioned, (url: Endpoint) => Promise<string>>> = {
  async redis(url) {
    const info = await withRedis(url, (redis) => redis.info('server'))
    const fact = (name: string): string | undefined => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1]
    // A Valkey tells as its redis_version the last one that it is compatible with.
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
