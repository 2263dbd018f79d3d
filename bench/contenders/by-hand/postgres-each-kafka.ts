import type { Job, Measurement } from '../../suite.ts'
import { ID_HEADER, Tally } from '../../tally.ts'
import { consumeAll } from '../clients/kafkajs.ts'
import { inboxTable, insertAlone, onPostgres } from '../clients/postgres-client.ts'

/** A careful Kafka consumer written by hand: a transaction for each message, several partitions at once. */
export function insertEachMessage(partitionsConsumedConcurrently: number): (job: Job) => Promise<Measurement> {
  return (job) =>
    onPostgres(job, async (pool) => {
      const tally = new Tally(job)
      await pool.query(inboxTable(job))
      return consumeAll(job, tally, () => ({
        partitionsConsumedConcurrently,
        eachMessage: async ({ message }) => {
          tally.arrived()
          await insertAlone(pool, job, tally, String(message.headers?.[ID_HEADER]))
          tally.ended(1)
        },
      }))
    })
}
