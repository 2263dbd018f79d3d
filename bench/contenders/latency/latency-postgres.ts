import { defineConsumer } from 'consume-once'
import { postgresInbox } from 'consume-once/pg'
import type { Job, Measurement } from '../../suite.ts'
import type { LoadBroker } from '../library/broker.ts'
import { consumeAllOnce } from '../library/consume-once.ts'
import { pacedLibrary } from './latency-library.ts'
import type { LoadLine } from './pace.ts'
import { onPostgres, writeEffects } from '../clients/postgres-client.ts'

/** The library on Postgres, one handler for each message. */
export function pacedInbox(line: LoadLine, perSecond: number, load: LoadBroker): (job: Job) => Promise<Measurement> {
  return pacedLibrary(line, perSecond, load, ({ job, broker, tally, settings }) =>
    onPostgres(job, (pool) => {
      const consumer = defineConsumer({
        ...settings,
        store: postgresInbox({ pool, schema: `${job.name}_inbox` }),
        handle: async ({ message, tx }) => {
          const id = String(broker.idOf(message))
          tally.started(id)
          await writeEffects(tx.query, job, [id])
        },
      })
      return consumeAllOnce(broker, job, tally, consumer)
    }),
  )
}
