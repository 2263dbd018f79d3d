import { connect, type ChannelModel } from 'amqplib'
import { Redis } from 'ioredis'
import { Kafka, logLevel, type Admin } from 'kafkajs'
import { createConnection, type Connection } from 'mysql2/promise'
import { Client } from 'pg'
import { addressOf, type Endpoint } from './catalogue.ts'

// Clients for one question each: they give up at once instead of retrying, and are closed whatever happens.

export const GIVE_UP_AFTER_MS = 3_000

export async function withRedis<T>(url: Endpoint, ask: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: GIVE_UP_AFTER_MS,
    commandTimeout: GIVE_UP_AFTER_MS,
    disconnectTimeout: 50, // After a refused connection ioredis waits all of it, 2 s by default, and holds the process.
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  })
  let reason: unknown // The error event tells why; the rejection only that the connection is closed.
  redis.on('error', (error) => (reason = error))
  try {
    await redis.connect()
    return await ask(redis)
  } catch (error) {
    throw reason ?? error
  } finally {
    redis.disconnect()
  }
}

/** The keys that begin so. */
export async function removeKeys(redis: Redis, prefix: string): Promise<void> {
  for await (const keys of redis.scanStream({ match: `${prefix}*`, count: 1_000 })) {
    if ((keys as string[]).length > 0) await redis.unlink(keys as string[])
  }
}

export async function withPostgres<T>(url: Endpoint, ask: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: GIVE_UP_AFTER_MS,
    query_timeout: GIVE_UP_AFTER_MS,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    return await ask(client)
  } finally {
    await client.end()
  }
}

/** MariaDB or MySQL. */
export async function withMariadb<T>(url: Endpoint, ask: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = await createConnection({ uri: url, connectTimeout: GIVE_UP_AFTER_MS })
  connection.on('error', () => {})
  try {
    return await ask(connection)
  } finally {
    connection.destroy()
  }
}

export async function withRabbit<T>(url: Endpoint, ask: (connection: ChannelModel) => Promise<T>): Promise<T> {
  const connection = await connect(url, { timeout: GIVE_UP_AFTER_MS })
  connection.on('error', () => {})
  try {
    return await ask(connection)
  } finally {
    await connection.close()
  }
}

export async function withKafka<T>(brokers: Endpoint, ask: (admin: Admin) => Promise<T>): Promise<T> {
  const kafka = new Kafka({
    ...addressOf('kafka', brokers),
    clientId: 'consume-once-tests',
    connectionTimeout: GIVE_UP_AFTER_MS,
    requestTimeout: GIVE_UP_AFTER_MS,
    logLevel: logLevel.NOTHING,
    retry: { retries: 0 },
  })
  const admin = kafka.admin()
  try {
    await admin.connect()
    return await ask(admin)
  } finally {
    await admin.disconnect()
  }
}
