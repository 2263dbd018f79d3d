import type { Job, Measurement } from '../../suite.ts'
import { Tally } from '../../tally.ts'
import { consumeAll } from '../clients/amqplib.ts'
import { inboxTable, insertAlone, onPostgres } from '../clients/postgres-client.ts'

/** A careful RabbitMQ worker written by hand: a transaction for each message, then ack. */
export function insertEach(prefetch: number): (job: Job) => Promise<Measurement> {
  return (job) =>
    onPostgres(job, async (pool) => {
      const tally = new Tally(job)
      await pool.query(inboxTable(job))
      return consumeAll(job, tally, prefetch, ({ properties }) =>
        insertAlone(pool, job, tally, String(properties.messageId)),
      )
    })
}
