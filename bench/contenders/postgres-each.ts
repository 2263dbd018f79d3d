import type { Job, Measurement } from '../suite.ts'
import { Tally } from '../tally.ts'
import { consumeAll } from './amqplib.ts'
import { inboxTable, onPostgres } from './postgres-client.ts'

/** What a careful worker of RabbitMQ does by hand: inbox row, effect, COMMIT, ack, for each message by itself. */
export function insertEach(prefetch: number): (job: Job) => Promise<Measurement> {
  return (job) =>
    onPostgres(job, async (pool) => {
      const tally = new Tally(job)
      await pool.query(inboxTable(job))
      const insert = `insert into ${job.name}.inbox (id) values ($1) on conflict do nothing`
      return consumeAll(job, tally, prefetch, async ({ properties }) => {
        const id = String(properties.messageId)
        const client = await pool.connect()
        await client.query('begin')
        const { rowCount } = await client.query(insert, [id])
        // Where another delivery of it is under way, the insert has waited for its end.
        if (rowCount === 1) {
          tally.started(id)
          await client.query(`insert into ${job.name}.effect (id, text) values ($1, 'sent')`, [id])
        }
        await client.query('commit')
        client.release()
      })
    })
}
