import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { Pool } from 'pg'
import { postgresInbox, postgresLease, postgresOffsets, type PgTransaction } from '../../adapters/pg/index.ts'
import type { Store } from '../../src/ports/store.ts'
import { startProxyOf, type FaultProxy } from '../kit/fault-proxy.ts'
import { uniqueName } from '../kit/namespace.ts'
import { withPostgres } from '../kit/servers/clients.ts'
import { server, SERVER_WITHIN_MS } from '../kit/servers/server.ts'
import { describePostgres, newPlace, type PgPlace } from '../pg/support.ts'
import { changes } from './changes.ts'
import type { Counted } from './expected.ts'
import { countedRun, meterOf, type Meter, type Options } from './consumed.ts'
import { Lockstep } from './lockstep.ts'
import { PostgresWire } from './postgres-wire.ts'

describePostgres('what 1,000 messages cost at Postgres', () => {
  let proxy: FaultProxy & { readonly url: string }
  let database: string
  let wire = new PostgresWire()

  beforeAll(async () => {
    const { url } = await server('postgres')
    database = await newDatabase(url)
    proxy = await startProxyOf(database, 5_432, () => wire.connection())
  }, SERVER_WITHIN_MS)
  afterAll(async () => {
    await proxy.stop()
    const { url } = await server('postgres')
    await withPostgres(url, (client) => client.query(`drop database ${nameOf(database)} with (force)`))
  })

  /** As the scene says; the store is on a pool of four transactions, and what the library needs beside them. */
  const counted = (
    scene: string,
    storeOn: (pool: Pool, schema: string) => Store<PgTransaction>,
    optionsOf: (place: PgPlace, gate: Lockstep) => Omit<Options<PgTransaction>, 'store'>,
  ): void => {
    it(`costs what it did: ${scene}`, async () => {
      const place = await newPlace(database)
      try {
        wire = new PostgresWire()
        const pool = place.newPool({ connectionString: proxy.url, max: 6, idleTimeoutMillis: 0 })
        const store = storeOn(pool, place.schema)
        await store.open()
        await withoutAutovacuum(place)
        const gate = new Lockstep(false)
        const meter = metered(place, pool, wire)
        const options = { ...optionsOf(place, gate), store } as Options<PgTransaction>
        expect(changes(scene, await countedRun(options, gate, meter))).toBe('')
      } finally {
        await place.close()
      }
    })
  }

  counted('Postgres inbox, handle', inbox, () => ({ handle: () => {} }))
  counted('Postgres inbox, handleBatch', inbox, handleBatch)
  counted('Postgres offsets, handle', offsets, () => ({ handle: () => {} }))
  counted('Postgres offsets, handleBatch', offsets, handleBatch)
  counted(
    'Postgres lease, 256 handlers at once',
    (pool, schema) => postgresLease({ pool, schema }),
    () => ({
      concurrency: 256,
      handle: () => {},
    }),
  )
})

function inbox(pool: Pool, schema: string): Store<PgTransaction> {
  return postgresInbox({ pool, schema })
}

function offsets(pool: Pool, schema: string): Store<PgTransaction> {
  return postgresOffsets({ pool, schema })
}

/** One statement for each batch. */
function handleBatch({ schema }: PgPlace, gate: Lockstep): Omit<Options<PgTransaction>, 'store'> {
  const text = `insert into ${schema}.effect (name) select 'effect' from generate_series(1, $1)`
  return { handleBatch: ({ messages, tx }) => gate.ask(() => tx.query(text, [messages.length])) }
}

/**
 * Dead rows of a database stay while a transaction of that database may still see them, and a statement may read in
 * another way where they stay. So that no other test decides it, these have a database of their own.
 */
async function newDatabase(url: string): Promise<string> {
  const name = uniqueName('counts')
  await withPostgres(url, (client) => client.query(`create database ${name}`))
  return Object.assign(new URL(url), { pathname: name }).href
}

function nameOf(url: string): string {
  return new URL(url).pathname.slice(1)
}

/** Statistics are taken when we say so, and not when the server has the time: how a statement reads depends on them. */
async function withoutAutovacuum({ pool, schema }: PgPlace): Promise<void> {
  await eachTable(pool, schema, 'alter table %s set (autovacuum_enabled = false)')
}

async function eachTable(pool: Pool, schema: string, command: string): Promise<void> {
  const { rows } = await pool.query(
    `select string_agg(format($2, format('%I.%I', schemaname, tablename)), '; ') as text from pg_tables where schemaname = $1`,
    [schema, command],
  )
  await pool.query((rows as { text: string }[])[0]?.text ?? '')
}

/** What went over the wire, and what the server did with the rows of the library's tables. */
function metered(place: PgPlace, pool: Pool, wire: PostgresWire): Meter {
  return meterOf(
    () => wire.counts,
    () => rowsOf(place, pool),
  )
}

async function rowsOf({ pool: admin, schema }: PgPlace, pool: Pool): Promise<Counted> {
  const clients = await Promise.all(Array.from({ length: pool.totalCount }, () => pool.connect()))
  for (const client of clients) {
    await client.query('select pg_stat_force_next_flush()')
    client.release()
  }
  await eachTable(admin, schema, 'analyze %s')
  const { rows } = await admin.query(
    `select sum(seq_tup_read)::int as "rows scanned", sum(idx_tup_fetch)::int as "rows fetched by index",
       sum(n_tup_ins)::int as "rows inserted", sum(n_tup_upd)::int as "rows updated",
       sum(n_tup_del)::int as "rows deleted"
     from pg_stat_all_tables where schemaname = $1`,
    [schema],
  )
  const [counts = {}] = rows as Record<string, number | null>[]
  return Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, count ?? 0]))
}
