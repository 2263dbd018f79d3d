import type { Endpoint, ServerName } from '../../test/kit/servers/catalogue.ts'
import type { PrivateInstance } from '../../test/kit/servers/private-instance.ts'
import { withKafka, withMariadb, withPostgres, withRabbit, withRedis } from '../../test/kit/servers/clients.ts'

interface DurableNote {
  /** Resolves when a kill of the server can no longer lose it. */
  write(endpoint: Endpoint, note: string, instance?: PrivateInstance & { flush?(): Promise<void> }): Promise<void>
  isThere(endpoint: Endpoint, note: string): Promise<boolean>
}

/** Something small a server must still know after it was killed: a key, a schema, a table, a queue, a topic of that name. */
export const DURABLE_NOTE: Readonly<Record<ServerName, DurableNote>> = {
  redis: {
    async write(url, note) {
      await withRedis(url, (redis) => redis.set(note, 'here'))
    },
    isThere: (url, note) => withRedis(url, async (redis) => (await redis.get(note)) === 'here'),
  },
  postgres: {
    async write(url, note) {
      await withPostgres(url, (client) => client.query(`create schema ${note}`))
    },
    async isThere(url, note) {
      const found = await withPostgres(url, (client) =>
        client.query('select from pg_namespace where nspname = $1', [note]),
      )
      return found.rowCount === 1
    },
  },
  mariadb: {
    async write(url, note) {
      await withMariadb(url, async (connection) => {
        await connection.query(`create table ${note} (id int primary key)`)
        await connection.query(`insert into ${note} values (1)`)
      })
    },
    isThere: (url, note) =>
      withMariadb(url, async (connection) => {
        const [rows] = await connection.query(`select id from ${note}`)
        return Array.isArray(rows) && rows.length === 1
      }),
  },
  rabbitmq: {
    async write(url, note, instance) {
      await withRabbit(url, async (connection) => {
        await (await connection.createChannel()).assertQueue(note, { durable: true })
      })
      await instance?.flush?.()
    },
    isThere: (url, note) =>
      withRabbit(url, async (connection) => {
        const channel = await connection.createChannel()
        channel.on('error', () => {})
        return channel.checkQueue(note).then(
          () => true,
          () => false,
        )
      }),
  },
  kafka: {
    async write(brokers, note) {
      await withKafka(brokers, (admin) => admin.createTopics({ topics: [{ topic: note }], waitForLeaders: false }))
    },
    isThere: (brokers, note) => withKafka(brokers, async (admin) => (await admin.listTopics()).includes(note)),
  },
}
