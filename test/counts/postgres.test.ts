import { expect, it } from '@jest/globals'
import { beforeAllOpen } from '../kit/opened.ts'
import { Client, type Pool, type PoolClient } from 'pg'
import { postgresInbox, postgresLease, postgresOffsets, type PgTransaction } from '../../adapters/pg/index.ts'
import type { Store } from '../../src/ports/store.ts'
import { startProxyOf, type ProxyOf } from '../kit/fault-proxy.ts'
import { uniqueName } from '../kit/namespace.ts'
import { server } from '../kit/servers/server.ts'
import { describePostgres, newPlace, type PgPlace } from '../pg/support.ts'
import { changes } from './changes.ts'
import type { Counted } from './expected.ts'
import { countedRun, meterOf, type Meter, type Options } from './consumed.ts'
import { Lockstep } from './lockstep.ts'
import { PostgresWire } from './postgres-wire.ts'

const CONNECTIONS = 6
/** The version whose plans are in the table: another one may read other rows for the same statement. */
const PLANNER = 15

describePostgres(`what 1,000 messages cost at Postgres (rows read: on ${PLANNER} alone)`, () => {
  let proxy: ProxyOf | undefined
  let database: string
  let wire = new PostgresWire()

  beforeAllOpen(async (own) => {
    const { url } = await server('postgres')
    database = await newDatabase(url)
    own(() => asAdmin(url, `drop database ${nameOf(database)} with (force)`))
    proxy = own(await startProxyOf(database, 5_432, () => wire.connection()))
  })

  /** As the scene says; the store is on a pool of four transactions, and what the library needs beside them. */
  const counted = (
    scene: string,
    storeOn: (pool: Pool, schema: string) => Store<PgTransaction>,
    optionsOf: (place: PgPlace, gate: Lockstep) => Omit<Options<PgTransaction>, 'store'>,
    isAnalyzed: boolean = true,
  ): void => {
    it(`costs what it did: ${scene}`, async () => {
      const place = await newPlace(database)
      try {
        wire = new PostgresWire()
        const pool = place.newPool({ connectionString: proxy?.url, max: CONNECTIONS, idleTimeoutMillis: 0 })
        const store = storeOn(pool, place.schema)
        await store.open()
        await withoutAutovacuum(place)
        await connectAll(pool)
        const gate = new Lockstep(false)
        const meter = metered(place, pool, { wire, isAnalyzed })
        const options = { ...optionsOf(place, gate), store } as Options<PgTransaction>
        const { 'rows read': read = 0, ...counts } = await countedRun(options, gate, meter)
        const ofPlans =
          (await majorOf(place)) === PLANNER
            ? changes(`${scene}, by the plans of ${PLANNER}`, { 'rows read': read })
            : ''
        expect([changes(scene, counts), ofPlans].join('\n').trim()).toBe('')
      } finally {
        await place.close()
      }
    })
  }

  counted('Postgres inbox, handle', inbox, () => ({ handle: () => {} }))
  counted('Postgres inbox, handleBatch', inbox, handleBatch)
  counted('Postgres inbox, handleBatch, tables that were never analyzed', inbox, handleBatch, false)
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
  await asAdmin(url, `create database ${name}`)
  return Object.assign(new URL(url), { pathname: name }).href
}

/** Without a time limit of its own: to create or drop a database the server writes a checkpoint, of all that others have changed. */
async function asAdmin(connectionString: string, statement: string): Promise<void> {
  const client = new Client({ connectionString })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
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
function metered(
  place: PgPlace,
  pool: Pool,
  { wire, isAnalyzed }: { readonly wire: PostgresWire; readonly isAnalyzed: boolean },
): Meter {
  return meterOf(
    () => wire.counts,
    async () => {
      if (isAnalyzed) await eachTable(place.pool, place.schema, 'analyze %s')
      return rowsOf(place, pool)
    },
  )
}

async function majorOf({ pool }: PgPlace): Promise<number> {
  const { rows } = await pool.query(`select current_setting('server_version_num')::int / 10000 as major`)
  return (rows as { major: number }[])[0]?.major ?? 0
}

/** All connections at once, so that none is opened while we count. */
async function connectAll(pool: Pool, each: (client: PoolClient) => Promise<unknown> = async () => {}): Promise<void> {
  const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => pool.connect()))
  for (const client of clients) {
    await each(client)
    client.release()
  }
}

async function rowsOf({ pool: admin, schema }: PgPlace, pool: Pool): Promise<Counted> {
  await connectAll(pool, (client) => client.query('select pg_stat_force_next_flush()'))
  const { rows } = await admin.query(
    `select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int as "rows read", sum(n_tup_ins)::int as "rows inserted",
       sum(n_tup_upd)::int as "rows updated", sum(n_tup_del)::int as "rows deleted"
     from pg_stat_all_tables where schemaname = $1`,
    [schema],
  )
  return (rows as Counted[])[0] ?? {}
}
