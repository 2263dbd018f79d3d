import { defineConsumer } from 'consume-once'
import { postgresInbox, type PostgresInboxOptions } from 'consume-once/pg'
import type { Job, Measurement } from '../../suite.ts'
import { Tally } from '../../tally.ts'
import type { LoadBroker } from './broker.ts'
import { commonSettings, consumeAllOnce } from './consume-once.ts'
import { onPostgres, writeEffects, writeEffectsEach } from '../clients/postgres-client.ts'

/** The library on Postgres, effect and mark of a batch in one transaction. */
export function libraryOnPostgres(load: LoadBroker, batchSize: number): (job: Job) => Promise<Measurement> {
  return (job) =>
    onPostgres(job, async (pool) => {
      const broker = await load()
      const tally = new Tally(job)
      const consumer = defineConsumer({
        ...commonSettings(broker, tally),
        store: postgresInbox({ pool, schema: `${job.name}_inbox` }),
        batchSize,
        handleBatch: async ({ messages, tx }) => {
          const ids = messages.map(({ message }) => String(broker.idOf(message)))
          for (const id of ids) tally.started(id)
          await writeEffects(tx.query, job, ids)
        },
      })
      return consumeAllOnce(broker, job, tally, consumer)
    })
}

/** The same with a handler for each message: up to 100 of them share a transaction, each with a statement of its own. */
export function handlersOnPostgres(
  load: LoadBroker,
  options: Pick<PostgresInboxOptions, 'durability'> = {},
): (job: Job) => Promise<Measurement> {
  return (job) =>
    onPostgres(job, async (pool) => {
      const broker = await load()
      const tally = new Tally(job)
      const consumer = defineConsumer({
        ...commonSettings(broker, tally),
        store: postgresInbox({ pool, schema: `${job.name}_inbox`, ...options }),
        handle: async ({ message, tx }) => {
          const id = String(broker.idOf(message))
          tally.started(id)
          await writeEffectsEach(tx.query, job, [id])
        },
      })
      return consumeAllOnce(broker, job, tally, consumer)
    })
}
