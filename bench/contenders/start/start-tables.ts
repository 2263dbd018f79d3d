import { postgresInbox } from 'consume-once/pg'
import { Pool } from 'pg'
import { serverOf, type Job, type Measurement } from '../../suite.ts'

/** With the tables of both ways in a schema of its own: a service makes them once, not at each start. */
export async function onTables(job: Job, run: (schema: string) => Promise<Measurement>): Promise<Measurement> {
  const pool = new Pool({ connectionString: serverOf(job, 'postgres'), max: 2 })
  await pool.query(`create schema ${job.name}; create table ${job.name}.inbox (id text primary key, at timestamptz)`)
  try {
    await postgresInbox({ pool, schema: `${job.name}_inbox` }).open()
    return await run(job.name)
  } finally {
    await pool.query(`drop schema ${job.name} cascade; drop schema if exists ${job.name}_inbox cascade`)
    await pool.end()
  }
}
