import { mkdirSync } from 'node:fs'
import type { Store } from '../../../src/index.ts'
import { pgliteInbox, postgresInbox } from '../../../adapters/pg/index.ts'
import { CommandError, EXIT } from '../../exit.ts'
import { installed } from '../installed.ts'
import { effectOf, type Effect } from '../effects.ts'
import { serverUrl, withoutPassword } from '../server-url.ts'
import type { DemoState } from '../state.ts'
import type { DemoStore } from './demo-store.ts'

interface Queryable {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
}

export async function pgliteDemoStore(state: DemoState): Promise<DemoStore> {
  const dataDir = state.path('pglite')
  mkdirSync(dataDir, { recursive: true })
  const { PGlite } = await installed('@electric-sql/pglite', import('@electric-sql/pglite'))
  const db = await PGlite.create(dataDir)
  const schema = state.namespace
  const place = `inbox and effects in PGlite, ${dataDir}, schema ${schema}`
  return inboxDemoStore(pgliteInbox({ db, schema }), db, schema, place, () => db.close())
}

export async function postgresDemoStore(state: DemoState): Promise<DemoStore> {
  const url = serverUrl('DATABASE_URL', 'postgres://postgres:postgres@127.0.0.1:5432/postgres')
  const { default: pg } = await installed('pg', import('pg'))
  const pool = new pg.Pool({ connectionString: url, max: 6, connectionTimeoutMillis: 5_000, query_timeout: 30_000 })
  pool.on('error', () => {})
  const schema = state.namespace
  try {
    await pool.query('select 1')
  } catch (cause) {
    await pool.end()
    throw new CommandError(
      EXIT.unreachable,
      `no usable Postgres answers at ${withoutPassword(url)} (${String(cause)}). Start one, or set DATABASE_URL. Nothing was produced.`,
      { cause },
    )
  }
  const place = `inbox and effects in Postgres, schema ${schema}`
  return inboxDemoStore(postgresInbox({ pool, schema }), pool, schema, place, () => pool.end())
}

/**
 * The effect is a row written through `ctx.tx`, so it commits with the mark or not at all. The table has no unique
 * constraint on the message, because that would hide double effects.
 */
async function inboxDemoStore(
  store: Store<Queryable>,
  db: Queryable,
  schema: string,
  place: string,
  close: () => Promise<void>,
): Promise<DemoStore> {
  await store.open()
  await db.query(
    `create table if not exists ${schema}.effects
       (id bytea not null, key text not null, payload_sha256 text not null, at timestamptz not null default clock_timestamp())`,
  )
  const insert = `insert into ${schema}.effects (id, key, payload_sha256) values ($1, $2, $3)`
  return {
    store,
    place,
    close,
    handle: async (context) => {
      const { id, key, payload_sha256 } = effectOf(context)
      // An ID may contain a NUL, which text cannot.
      await (context.tx as Queryable).query(insert, [Buffer.from(id), key, payload_sha256])
    },
    effects: async () => {
      const { rows } = await db.query(`select id, key, payload_sha256, at from ${schema}.effects order by at`)
      return (rows as (Omit<Effect, 'id' | 'at'> & { id: Uint8Array; at: Date })[]).map((row) => ({
        id: Buffer.from(row.id).toString('utf8'),
        key: row.key,
        payload_sha256: row.payload_sha256,
        at: row.at.toISOString(),
      }))
    },
  }
}
