import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import {
  getDisabledLogger,
  initializeMessageStorage,
  initializePollingMessageListener,
  type PollingListenerConfig,
} from 'pg-transactional-outbox'
import type { Job, Measurement } from '../../suite.ts'
import { ID_HEADER, Tally } from '../../tally.ts'
import { consumeAll } from '../clients/kafkajs.ts'
import { createMessageTable, idOf, pollingConfigOf, uuidOf } from '../clients/pg-transactional-outbox.ts'
import { CONNECTIONS, onPostgres, writeEffectsEach } from '../clients/postgres-client.ts'

const POLL_MS = 20
const TYPE = { aggregateType: 'bench', messageType: 'sent' }

/**
 * The inbox of pg-transactional-outbox: its storage function writes what Kafka delivers, its polling listener handles it, a
 * segment for each key and in its order. It polls sooner than it would by itself, as many at once as it has connections.
 */
export function pollingInbox(partitionsConsumedConcurrently: number): (job: Job) => Promise<Measurement> {
  return (job) =>
    onPostgres(job, async (pool) => {
      const tally = new Tally(job)
      const config = pollingConfigOf(job, 'inbox', CONNECTIONS)
      await createMessageTable(pool, config)
      const store = initializeMessageStorage(config, getDisabledLogger())
      const [stopListening] = initializePollingMessageListener(
        config,
        {
          handle: async ({ id }, client) => {
            const plain = idOf(id)
            tally.started(plain)
            await writeEffectsEach((text, values) => client.query(text, values), job, [plain])
          },
        },
        getDisabledLogger(),
      )
      let stored = 0
      const measured = consumeAll(job, tally, () => ({
        partitionsConsumedConcurrently,
        eachMessage: async ({ message }) => {
          tally.arrived()
          const { headers, key, value } = message
          await store(
            {
              ...TYPE,
              id: uuidOf(String(headers?.[ID_HEADER])),
              aggregateId: String(key),
              segment: String(key),
              payload: JSON.parse(String(value)),
            },
            pool,
          )
          stored++
        },
      }))
      // It has no event for its commit.
      while (stored < job.messages || (await openIn(pool, config)) > 0) await sleep(POLL_MS)
      tally.ended(job.messages)
      const measurement = await measured
      await stopListening()
      return measurement
    })
}

async function openIn(pool: Pool, { settings: { dbSchema, dbTable } }: PollingListenerConfig): Promise<number> {
  const { rows } = await pool.query<{ open: number }>(
    `select count(*)::int as open from ${dbSchema}.${dbTable} where processed_at is null`,
  )
  return rows[0]?.open ?? 0
}
