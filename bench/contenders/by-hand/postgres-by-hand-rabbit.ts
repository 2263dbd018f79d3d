import type { Job, Measurement } from '../../suite.ts'
import { Tally } from '../../tally.ts'
import { consumeAll } from '../clients/amqplib.ts'
import { Gathered } from './gathered.ts'
import { handleByHand, plainInbox, type Statements } from './postgres-by-hand.ts'
import { onPostgres } from '../clients/postgres-client.ts'

/** As many transactions at once as the library has by itself. */
const TRANSACTIONS = 4

/** A worker of RabbitMQ that gathers what has arrived, handles it in one transaction, and then acks each. */
export function insertGathered(
  batchSize: number,
  statements: Statements,
  prefetch: number,
): (job: Job) => Promise<Measurement> {
  return (job) =>
    onPostgres(job, async (pool) => {
      const tally = new Tally(job)
      await pool.query(plainInbox.table(job))
      const gathered = new Gathered(batchSize, TRANSACTIONS, (ids) =>
        handleByHand(plainInbox, statements, { pool, job, tally }, [...new Set(ids)]),
      )
      return consumeAll(job, tally, prefetch, ({ properties }) => gathered.add(String(properties.messageId)))
    })
}
