import type { Pool } from 'pg'
import { DatabaseSetup, type PollingListenerConfig } from 'pg-transactional-outbox'
import { serverOf, type Job } from '../../suite.ts'

const POLL_MS = 20

/** An inbox or an outbox of pg-transactional-outbox in the schema of a job: it polls sooner than it would by itself, for so many at once. */
export function pollingConfigOf(job: Job, kind: 'inbox' | 'outbox', atOnce: number): PollingListenerConfig {
  const database = { connectionString: serverOf(job, 'postgres'), max: atOnce }
  return {
    outboxOrInbox: kind,
    dbListenerConfig: database,
    dbHandlerConfig: database,
    settings: {
      dbSchema: job.name,
      dbTable: kind,
      nextMessagesFunctionSchema: job.name,
      nextMessagesFunctionName: 'next_messages',
      nextMessagesBatchSize: atOnce,
      nextMessagesPollingIntervalInMs: POLL_MS,
      enableMaxAttemptsProtection: true,
      enablePoisonousMessageProtection: true,
    },
  }
}

export async function createMessageTable(
  pool: Pool,
  { outboxOrInbox, settings: { dbSchema: schema, dbTable: table } }: PollingListenerConfig,
): Promise<void> {
  const own = { outboxOrInbox, database: '', schema, table, listenerRole: '', nextMessagesName: 'next_messages' }
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

/** It takes UUIDs only. */
export const uuidOf = (id: string): string => `00000000-0000-4000-8000-${id.padStart(12, '0')}`
export const idOf = (uuid: string): string => String(Number(uuid.slice(-12)))
