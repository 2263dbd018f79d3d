import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import {
  DatabaseSetup,
  getDisabledLogger,
  initializeMessageStorage,
  initializePollingMessageListener,
  type PollingListenerConfig,
} from 'pg-transactional-outbox'
import { serverOf, type Job, type Measurement } from '../../suite.ts'
import { ID_HEADER, Tally } from '../../tally.ts'
import { consumeAll } from '../clients/kafkajs.ts'
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
      const config = configOf(job)
      await createInbox(pool, config)
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

function configOf(job: Job): PollingListenerConfig {
  const database = { connectionString: serverOf(job, 'postgres'), max: CONNECTIONS }
  return {
    outboxOrInbox: 'inbox',
    dbListenerConfig: database,
    dbHandlerConfig: database,
    settings: {
      dbSchema: job.name,
      dbTable: 'inbox',
      nextMessagesFunctionSchema: job.name,
      nextMessagesFunctionName: 'next_messages',
      nextMessagesBatchSize: CONNECTIONS,
      nextMessagesPollingIntervalInMs: POLL_MS,
      enableMaxAttemptsProtection: true,
      enablePoisonousMessageProtection: true,
    },
  }
}

async function createInbox(
  pool: Pool,
  { settings: { dbSchema: schema, dbTable: table } }: PollingListenerConfig,
): Promise<void> {
  const own = {
    outboxOrInbox: 'inbox',
    database: '',
    schema,
    table,
    listenerRole: '',
    nextMessagesName: 'next_messages',
  } as const
  // It drops indexes of its names wherever the search path leads.
  await pool.query(
    [
      'begin',
      `set local search_path to ${schema}`,
      DatabaseSetup.dropAndCreateTable(own),
      DatabaseSetup.createPollingFunction(own),
      DatabaseSetup.setupPollingIndexes(own),
      'commit',
    ].join(';\n'),
  )
}

async function openIn(pool: Pool, { settings: { dbSchema, dbTable } }: PollingListenerConfig): Promise<number> {
  const { rows } = await pool.query<{ open: number }>(
    `select count(*)::int as open from ${dbSchema}.${dbTable} where processed_at is null`,
  )
  return rows[0]?.open ?? 0
}

/** It takes UUIDs only. */
const uuidOf = (id: string): string => `00000000-0000-4000-8000-${id.padStart(12, '0')}`
const idOf = (uuid: string): string => String(Number(uuid.slice(-12)))
