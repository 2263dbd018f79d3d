import { Pool } from 'pg'
import { serverOf, type Job } from '../../suite.ts'
import type { Tally } from '../../tally.ts'

export const CONNECTIONS = 8

export type Query = (text: string, values: unknown[]) => Promise<unknown>

/** The effect: a row for each message, all in one statement. */
export async function writeEffects(query: Query, job: Job, ids: readonly string[]): Promise<void> {
  await query(`insert into ${job.name}.effect (id, text) select id, 'sent' from unnest($1::text[]) as id`, [ids])
}

/** The same by a statement for each message, as handlers write that know of no batch. */
export async function writeEffectsEach(query: Query, job: Job, ids: readonly string[]): Promise<void> {
  for (const id of ids) await query(`insert into ${job.name}.effect (id, text) values ($1, 'sent')`, [id])
}

export const inboxTable = ({ name }: Job): string =>
  `create table ${name}.inbox (id text primary key, at timestamptz not null default now())`

/** Inbox row, effect, COMMIT, for one message by itself. */
export async function insertAlone(pool: Pool, job: Job, tally: Tally, id: string): Promise<void> {
  const client = await pool.connect()
  await client.query('begin')
  const { rowCount } = await client.query(`insert into ${job.name}.inbox (id) values ($1) on conflict do nothing`, [id])
  // Where another delivery of it is under way, the insert has waited for its end.
  if (rowCount === 1) {
    tally.started(id)
    await writeEffectsEach((text, values) => client.query(text, values), job, [id])
  }
  await client.query('commit')
  client.release()
}

/** In schemas of its own, which it removes; checks the effects that were committed. */
export async function onPostgres<T>(job: Job, run: (pool: Pool) => Promise<T>): Promise<T> {
  const pool = new Pool({ connectionString: serverOf(job, 'postgres'), max: CONNECTIONS })
  await pool.query(`create schema ${job.name}`)
  try {
    await pool.query(`create table ${job.name}.effect (id text not null, text text not null)`)
    const measurement = await run(pool)
    const { rows } = await pool.query(
      `select count(*)::int as rows, count(distinct id)::int as ids from ${job.name}.effect`,
    )
    const [{ rows: effects, ids } = { rows: 0, ids: 0 }] = rows as { rows: number; ids: number }[]
    if (effects !== job.ids || ids !== job.ids) {
      throw new Error(`of ${job.ids} effects: ${effects} rows, ${ids} distinct`)
    }
    return measurement
  } finally {
    await pool.query(`drop schema ${job.name} cascade; drop schema if exists ${job.name}_inbox cascade`)
  }
}
