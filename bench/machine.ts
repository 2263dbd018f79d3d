import { readFileSync } from 'node:fs'
import { cpus, totalmem, type as system } from 'node:os'
import type { Endpoint, ServerName } from '../test/support/servers/catalogue.ts'
import { withPostgres, withRabbit, withRedis } from '../test/support/servers/clients.ts'

export type Servers = Readonly<Partial<Record<ServerName, Endpoint>>>

export interface Machine {
  readonly node: string
  readonly system: string
  readonly processor: string
  readonly cores: number
  readonly memoryGb: number
  /** Of the packages and servers that take part. Kafka does not tell kafkajs which it is. */
  readonly versions: Readonly<Record<string, string>>
}

const PACKAGES = ['kafkajs', 'amqplib', 'ioredis', 'pg']

export async function describeMachine(servers: Servers): Promise<Machine> {
  const processors = cpus()
  return {
    node: process.version,
    system: system(),
    processor: processors[0]?.model.trim() ?? 'unknown',
    cores: processors.length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    versions: {
      ...Object.fromEntries(PACKAGES.map((name) => [name, versionOf(name)])),
      ...(servers.rabbitmq === undefined ? {} : { RabbitMQ: await rabbitVersion(servers.rabbitmq) }),
      ...(servers.redis === undefined ? {} : { Redis: await redisVersion(servers.redis) }),
      ...(servers.postgres === undefined ? {} : { Postgres: await postgresVersion(servers.postgres) }),
    },
  }
}

function versionOf(name: string): string {
  const file = new URL(`../node_modules/${name}/package.json`, import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}

async function rabbitVersion(url: Endpoint): Promise<string> {
  return withRabbit(url, async ({ connection }) => connection.serverProperties.version)
}

async function redisVersion(url: Endpoint): Promise<string> {
  const info = await withRedis(url, (redis) => redis.info('server'))
  return /redis_version:(\S+)/.exec(info)?.[1] ?? 'unknown'
}

async function postgresVersion(url: Endpoint): Promise<string> {
  const { rows } = await withPostgres(url, (client) => client.query<{ server_version: string }>('show server_version'))
  return rows[0]?.server_version ?? 'unknown'
}
