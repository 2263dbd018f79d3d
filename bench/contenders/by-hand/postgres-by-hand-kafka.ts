import type { KafkaMessage } from 'kafkajs'
import type { Job, Measurement } from '../../suite.ts'
import { ID_HEADER, Tally } from '../../tally.ts'
import { distinct } from '../clients/kafka-messages.ts'
import { consumeInBatches } from '../clients/kafkajs.ts'
import { countedInbox, handleByHand, plainInbox, type ByHand, type Statements } from './postgres-by-hand.ts'
import { onPostgres } from '../clients/postgres-client.ts'

type Run = (job: Job) => Promise<Measurement>

export const insertLoop = (batchSize: number, statements: Statements): Run => loop(plainInbox, batchSize, statements)

export const countedLoop = (batchSize: number, statements: Statements): Run => loop(countedInbox, batchSize, statements)

/** Each fetched batch in slices, eight partitions at once. */
function loop(byHand: ByHand, batchSize: number, statements: Statements): Run {
  return (job) =>
    onPostgres(job, async (pool) => {
      const tally = new Tally(job)
      await pool.query(byHand.table(job))
      return consumeInBatches(job, tally, batchSize, async (batch) => {
        await handleByHand(byHand, statements, { pool, job, tally }, distinct(batch).map(idOf))
        tally.ended(batch.length)
      })
    })
}

const idOf = ({ headers }: KafkaMessage): string => String(headers?.[ID_HEADER])
