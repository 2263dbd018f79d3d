import type { Store } from 'consume-once'
import type { ClaimItem } from 'consume-once/spi'
import { postgresInbox, type PgTransaction } from 'consume-once/pg'
import { Pool, type PoolClient } from 'pg'
import { serverOf, type Job, type Measurement } from '../../suite.ts'
import { Tally } from '../../tally.ts'
import { atOnce, claimItems, claimsIn, expectAll, inBatches, itemsOf } from './store-items.ts'

type Run = (job: Job) => Promise<Measurement>
type Query = (text: string, values: unknown[]) => Promise<unknown>

/** Messages in each transaction, and transactions at the same time. */
export interface Shape {
  readonly batchSize: number
  readonly transactions: number
}

/** The effect in a transaction, and no deduplication. */
export function effectsOnly({ batchSize, transactions }: Shape): Run {
  return (job) =>
    onPostgres(job, transactions, async (pool) => {
      const clients = await Promise.all(Array.from({ length: transactions }, () => pool.connect()))
      const measurement = await timed(job, { batchSize, transactions }, async (batch, lane) => {
        const client = clients[lane] as PoolClient
        await client.query('begin')
        await writeEffects((text, values) => client.query(text, values), job, batch)
        await client.query('commit')
      })
      for (const client of clients) client.release()
      return measurement
    })
}

/** Code written by hand: one statement for the inbox rows, one for the effects, and COMMIT. No attempts. */
export function effectsAndRows({ batchSize, transactions }: Shape): Run {
  return (job) =>
    onPostgres(job, transactions, async (pool) => {
      await pool.query(`create table ${job.name}.seen (key bytea primary key, fp bytea, at timestamptz default now())`)
      const clients = await Promise.all(Array.from({ length: transactions }, () => pool.connect()))
      const insert = `insert into ${job.name}.seen (key, fp) select k, f from unnest($1::bytea[], $2::bytea[]) as x (k, f)
        order by k on conflict do nothing returning key`
      const measurement = await timed(job, { batchSize, transactions }, async (batch, lane) => {
        const client = clients[lane] as PoolClient
        const keys = batch.map(bytesOf)
        await client.query('begin')
        const { rowCount } = await client.query(insert, [keys, keys])
        if (rowCount !== batch.length) throw new Error(`expected ${batch.length} new keys, got ${rowCount}`)
        await writeEffects((text, values) => client.query(text, values), job, batch)
        await client.query('commit')
      })
      for (const client of clients) client.release()
      return measurement
    })
}

/** Effect and mark in one transaction of the inbox. */
export function effectsOnce({ batchSize, transactions }: Shape): Run {
  return (job) =>
    onInbox(job, transactions, (store) =>
      timed(job, { batchSize, transactions }, (batch) => markOnce(store, job, batch)),
    )
}

/** Messages that were done before: all answers are `done`. */
export function duplicatesThroughInbox({ batchSize, transactions }: Shape): Run {
  return (job) =>
    onInbox(job, transactions, async (store) => {
      for (const batch of inBatches(itemsOf(job.name, job.messages), 1_000)) await markOnce(store, job, batch)
      return timedAgain(job, { batchSize, transactions }, async (batch) => {
        const answers = await claimItems(store, batch, job.name)
        expectAll(
          answers.map(({ verdict }) => verdict),
          'done',
        )
      })
    })
}

/** The bare read of the same keys. */
export function duplicatesBySelect({ batchSize, transactions }: Shape): Run {
  return (job) =>
    onPostgres(job, transactions, async (pool) => {
      const table = `${job.name}.seen`
      await pool.query(`create table ${table} (key bytea primary key, fp bytea)`)
      for (const batch of inBatches(itemsOf(job.name, job.messages), 1_000)) {
        await pool.query(`insert into ${table} select k, f from unnest($1::bytea[], $2::bytea[]) as x (k, f)`, [
          batch.map(bytesOf),
          batch.map(bytesOf),
        ])
      }
      return timedAgain(job, { batchSize, transactions }, async (batch) => {
        const { rowCount } = await pool.query(`select key, fp from ${table} where key = any($1)`, [batch.map(bytesOf)])
        if (rowCount !== batch.length) throw new Error(`expected ${batch.length} rows, got ${rowCount}`)
      })
    })
}

export async function markOnce(store: Store<PgTransaction>, job: Job, batch: readonly ClaimItem[]): Promise<void> {
  const claims = claimsIn(await claimItems(store, batch, job.name))
  const lent = claims[0]?.transaction?.lend()
  if (lent === undefined) throw new Error('expected a transaction')
  await writeEffects(lent.tx.query, job, batch)
  lent.revoke()
  expectAll(await store.mark(claims), 'marked')
}

/** A row for each message: by itself where it is alone, else all in one statement. */
async function writeEffects(query: Query, { name }: Job, batch: readonly ClaimItem[]): Promise<void> {
  const [first, second] = batch
  if (first !== undefined && second === undefined) {
    await query(`insert into ${name}.effect (id, text) values ($1, 'sent')`, [first.key])
    return
  }
  const ids = batch.map(({ key }) => key)
  await query(`insert into ${name}.effect (id, text) select id, 'sent' from unnest($1::text[]) as id`, [ids])
}

function bytesOf({ key }: ClaimItem): Buffer {
  return Buffer.from(key, 'base64url')
}

/** Having read all of it once: what made the rows may have warmed more or less of the code that reads them. */
async function timedAgain(...read: Parameters<typeof timed>): Promise<Measurement> {
  await timed(...read)
  return timed(...read)
}

async function timed(
  job: Job,
  { batchSize, transactions }: Shape,
  run: (batch: readonly ClaimItem[], lane: number) => Promise<void>,
): Promise<Measurement> {
  const batches = inBatches(itemsOf(job.name, job.messages), batchSize)
  const tally = new Tally(job)
  for (let n = 0; n < job.messages; n++) tally.started(String(n))
  tally.arrived()
  await atOnce(batches, transactions, async (batch, lane) => {
    await run(batch, lane)
    tally.ended(batch.length)
  })
  return tally.measurement()
}

function onInbox(
  job: Job,
  transactions: number,
  run: (store: Store<PgTransaction>, pool: Pool) => Promise<Measurement>,
): Promise<Measurement> {
  return onPostgres(job, transactions, async (pool) => {
    const store = postgresInbox({ pool, schema: `${job.name}_inbox` })
    await store.open()
    return run(store, pool)
  })
}

/** In schemas of its own, which it removes. */
async function onPostgres(
  job: Job,
  transactions: number,
  run: (pool: Pool) => Promise<Measurement>,
): Promise<Measurement> {
  // One more, for attempts that are counted outside the transactions.
  const pool = new Pool({ connectionString: serverOf(job, 'postgres'), max: transactions + 1 })
  await pool.query(`create schema ${job.name}; create table ${job.name}.effect (id text not null, text text not null)`)
  try {
    return await run(pool)
  } finally {
    await pool.query(`drop schema ${job.name} cascade; drop schema if exists ${job.name}_inbox cascade`)
    await pool.end()
  }
}
