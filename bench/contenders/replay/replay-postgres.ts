import { defineConsumer } from 'consume-once'
import { postgresInbox } from 'consume-once/pg'
import type { KafkaMessage } from 'kafkajs'
import type { Pool } from 'pg'
import type { Job, Measurement } from '../../suite.ts'
import { ID_HEADER } from '../../tally.ts'
import type { LoadBroker } from '../library/broker.ts'
import { distinct } from '../clients/kafka-messages.ts'
import { consumeInBatches } from '../clients/kafkajs.ts'
import { inboxTable, onPostgres, writeEffects } from '../clients/postgres-client.ts'
import { replayed, replayedAgain, secondTime } from './replay.ts'

type Run = (job: Job) => Promise<Measurement>

export function replayOnPostgres(load: LoadBroker, batchSize: number): Run {
  return (job) => onPostgres(job, (pool) => replayed(load, job, consumerOn(pool, job, batchSize)))
}

export function replayAgainOnPostgres(load: LoadBroker, times: number, batchSize: number): Run {
  return (job) => onPostgres(job, (pool) => replayedAgain(load, job, times, consumerOn(pool, job, batchSize)))
}

function consumerOn(pool: Pool, job: Job, batchSize: number): Parameters<typeof replayed>[2] {
  return (settings, started) =>
    defineConsumer({
      ...settings,
      store: postgresInbox({ pool, schema: `${job.name}_inbox` }),
      batchSize,
      handleBatch: async ({ messages, tx }) => {
        const ids = messages.map(({ message }) => String(message.headers[ID_HEADER]))
        for (const id of ids) started(id)
        await writeEffects(tx.query, job, ids)
      },
    })
}

/** Upper limit for code that asks Postgres about each message: one read for each batch of kafkajs, and nothing else. */
export function selectFromKafka(batchSize: number): Run {
  return (job) =>
    onPostgres(job, async (pool) => {
      const ids = Array.from({ length: job.ids }, (_, id) => `${id}`)
      await pool.query(inboxTable(job))
      await pool.query(`insert into ${job.name}.inbox (id) select id from unnest($1::text[]) as id`, [ids])
      await writeEffects((text, values) => pool.query(text, values), job, ids)
      await pool.query(`vacuum analyze ${job.name}.inbox`)
      return secondTime(job, (group, tally) => {
        for (const id of ids) tally.started(id)
        return consumeInBatches(group, tally, batchSize, async (batch) => {
          const wanted = distinct(batch).map(idOf)
          const { rowCount } = await pool.query(`select id, at from ${job.name}.inbox where id = any($1)`, [wanted])
          if (rowCount !== wanted.length) throw new Error(`expected ${wanted.length} rows, got ${rowCount}`)
          tally.ended(batch.length)
        })
      })
    })
}

const idOf = ({ headers }: KafkaMessage): string => String(headers?.[ID_HEADER])
