import { defineConsumer } from 'consume-once'
import { postgresInbox } from 'consume-once/pg'
import { Pool } from 'pg'
import { serverOf, type Job, type Measurement } from '../../suite.ts'
import { crashing, type LoadCrashBroker } from './crash.ts'
import { onPostgres, writeEffects } from '../clients/postgres-client.ts'

/** The library. An effect is a row that was committed, whatever a worker has begun. */
export function killedInbox(load: LoadCrashBroker, batchSize: number): (job: Job) => Promise<Measurement> {
  return async (job) => {
    const broker = await load()
    const supervised = crashing(
      broker,
      async (_, begun, end) => {
        const pool = new Pool({ connectionString: serverOf(job, 'postgres') })
        const consumer = defineConsumer({
          name: 'bench',
          id: (message) => String(broker.idOf(message)),
          decode: (bytes) => bytes,
          store: postgresInbox({ pool, schema: `${job.name}_inbox` }),
          batchSize,
          handleBatch: async ({ messages, tx }) => {
            const ids = messages.map(({ message }) => String(broker.idOf(message)))
            await writeEffects(tx.query, job, ids)
            for (const id of ids) begun(id)
          },
        })
        await end(await broker.run(job, consumer))
      },
      (supervise) =>
        onPostgres(job, (pool) =>
          supervise(async () => {
            const { rows } = await pool.query<{ id: string }>(`select id from ${job.name}.effect`)
            return rows.map(({ id }) => Number(id))
          }),
        ),
    )
    return supervised(job)
  }
}
