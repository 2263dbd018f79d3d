import { mysqlOutbox } from '../../adapters/mysql2/index.ts'
import { postgresOutbox } from '../../adapters/pg/index.ts'
import type { SqlOutbox } from '../../adapters/sql/outbox/types.ts'
import { newPlace } from '../../test/pg/support.ts'
import { newMysqlPlace } from '../../test/mysql/support.ts'
import { server } from '../../test/kit/servers/server.ts'
import type { ProgramSpec } from './relay-process.ts'

type Written = Parameters<SqlOutbox['publish']>[1]

/** A database with an outbox, for relays in processes of their own. */
export interface OutboxDatabase extends AsyncDisposable {
  readonly spec: Pick<ProgramSpec, 'on' | 'url' | 'schema'>
  readonly outbox: SqlOutbox
  commit(messages: Written): Promise<void>
  rows(): Promise<number>
  /** Connections of others to this database. */
  connections(): Promise<ReadonlySet<string>>
  end(connections: ReadonlySet<string>): Promise<void>
}

export async function onPostgres(): Promise<OutboxDatabase> {
  const { url } = await server('postgres')
  const place = await newPlace()
  const outbox = postgresOutbox({ pool: place.pool, schema: place.schema, relay: false })
  await outbox.open()
  const named = `${url}${url.includes('?') ? '&' : '?'}application_name=${place.schema}`
  return {
    spec: { on: 'postgres', url: named, schema: place.schema },
    outbox,
    async commit(messages) {
      const client = await place.pool.connect()
      await client.query('begin')
      await outbox.publish(client, messages)
      await client.query('commit')
      client.release()
    },
    rows: async () =>
      Number((await place.pool.query<{ n: string }>(`select count(*) as n from ${place.schema}.outbox`)).rows[0]?.n),
    async connections() {
      const text = 'select pid::text as id from pg_stat_activity where application_name = $1'
      const { rows } = await place.pool.query<{ id: string }>(text, [place.schema])
      return new Set(rows.map(({ id }) => id))
    },
    async end(connections) {
      for (const pid of connections) await place.terminate(Number(pid))
    },
    [Symbol.asyncDispose]: () => place.close(),
  }
}

export async function onMariadb(): Promise<OutboxDatabase> {
  const place = await newMysqlPlace()
  const address = new URL((await server('mariadb')).url)
  address.pathname = `/${place.database}`
  const outbox = mysqlOutbox({ pool: place.newPool({ connectionLimit: 2 }), relay: false })
  await outbox.open()
  const all = async (): Promise<readonly string[]> => {
    const found = await place.rows(`select id from information_schema.processlist where db = '${place.database}'`)
    return found.map(({ id }) => String(id))
  }
  const connection = await place.pool.getConnection()
  const own = new Set(await all())
  return {
    spec: { on: 'mariadb', url: address.href, schema: '' },
    outbox,
    async commit(messages) {
      await connection.beginTransaction()
      await outbox.publish(connection, messages)
      await connection.commit()
    },
    rows: async () => Number((await place.rows('select count(*) as n from consume_once_outbox'))[0]?.['n']),
    connections: async () => new Set((await all()).filter((id) => !own.has(id))),
    async end(connections) {
      for (const id of connections) await place.rows(`kill ${id}`)
    },
    async [Symbol.asyncDispose]() {
      connection.release()
      await place.close()
    },
  }
}
