import type { WithOnce } from './with-once.ts'
import { inboxTable, onPostgres } from '../clients/postgres-client.ts'

/** Careful code written by hand, for each message by itself: inbox row, effect, COMMIT. */
export const byInboxRow: WithOnce = (job, consume) =>
  onPostgres(job, async (pool) => {
    await pool.query(inboxTable(job))
    return consume(async (id, run) => {
      const client = await pool.connect()
      await client.query('begin')
      const { rowCount } = await client.query(`insert into ${job.name}.inbox (id) values ($1) on conflict do nothing`, [
        id,
      ])
      if (rowCount === 1) {
        await run()
        await client.query(`insert into ${job.name}.effect (id, text) values ($1, 'sent')`, [id])
      }
      await client.query('commit')
      client.release()
    })
  })
