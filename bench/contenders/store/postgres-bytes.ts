import { postgresInbox } from 'consume-once/pg'
import { Pool } from 'pg'
import { serverOf, type Job, type Measurement } from '../../suite.ts'
import { filled } from './filled.ts'
import { claimItems, claimsIn, expectAll } from './store-items.ts'

/** Bytes of a marked key in heap and index. */
export async function bytesInPostgres(job: Job): Promise<Measurement> {
  const pool = new Pool({ connectionString: serverOf(job, 'postgres'), max: 2 })
  const store = postgresInbox({ pool, schema: job.name })
  await store.open()
  try {
    const measurement = await filled(job, 500, async (batch) => {
      expectAll(await store.mark(claimsIn(await claimItems(store, batch, job.name))), 'marked')
    })
    const { rows } = await pool.query(`select pg_table_size($1::regclass) + pg_indexes_size($1::regclass) as bytes`, [
      `${job.name}.inbox`,
    ])
    return { ...measurement, figures: { 'bytes each': Number(rows[0].bytes) / job.messages } }
  } finally {
    await pool.query(`drop schema ${job.name} cascade`)
    await pool.end()
  }
}
