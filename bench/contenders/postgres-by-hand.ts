import type { KafkaMessage } from 'kafkajs'
import type { Job, Measurement } from '../suite.ts'
import { ID_HEADER, Tally } from '../tally.ts'
import { distinct } from './kafka-messages.ts'
import { consumeInBatches } from './kafkajs.ts'
import { inboxTable, onPostgres, writeEffects, writeEffectsEach, type Query } from './postgres-client.ts'

type Run = (job: Job) => Promise<Measurement>

/** Effects of a batch: all rows in one statement, or each in its own, as handlers write that know of no batch. */
type Statements = 'one' | 'each'

const MAX_ATTEMPTS = 5

/** What is written by hand: rows into an inbox table, effects, COMMIT. No attempts, no digest. */
export function insertLoop(batchSize: number, statements: Statements = 'one'): Run {
  return (job) => {
    const insert = `insert into ${job.name}.inbox (id) select id from unnest($1::text[]) as id
      on conflict do nothing returning id`
    return inTransactions(job, batchSize, {
      table: inboxTable(job),
      handle: (query, ids, handleNew) => committed(query, () => query(insert, [ids]), handleNew),
      statements,
    })
  }
}

/**
 * The same by somebody whose messages have killed the process before: the attempt is counted in a transaction of its own, which is
 * durable before an effect begins. The library counts before as well, and does not wait for the disk there.
 */
export function countedLoop(batchSize: number, statements: Statements = 'one'): Run {
  return (job) => {
    const table = `${job.name}.inbox`
    const count = `insert into ${table} as known (id) select id from unnest($1::text[]) as id
      on conflict (id) do update set attempts = known.attempts + 1 where not known.done returning id, attempts`
    // Where another delivery of it is under way, this waits for its end, and finds it done.
    const take = `update ${table} set done = true where id = any($1) and not done returning id`
    return inTransactions(job, batchSize, {
      table: `create table ${table} (id text primary key, attempts int not null default 1, done bool not null default false,
        at timestamptz not null default now())`,
      handle: async (query, ids, handleNew) => {
        const { rows } = await query(count, [ids])
        if (rows.some(({ attempts = 0 }) => attempts > MAX_ATTEMPTS))
          throw new Error('a message that was tried too often')
        if (rows.length === 0) return
        await committed(query, () => query(take, [rows.map(({ id }) => id)]), handleNew)
      },
      statements,
    })
  }
}

interface ByHand {
  /** Creates the inbox. */
  readonly table: string
  /** Finds out which of these are new and has them handled. */
  readonly handle: (query: RowQuery, ids: readonly string[], handleNew: HandleNew) => Promise<void>
  readonly statements: Statements
}

type RowQuery = (text: string, values?: unknown[]) => Promise<{ readonly rows: readonly Row[] }>
type HandleNew = (ids: readonly string[]) => Promise<void>
interface Row {
  readonly id: string
  readonly attempts?: number
}

function inTransactions(job: Job, batchSize: number, { table, handle, statements }: ByHand): Promise<Measurement> {
  return onPostgres(job, async (pool) => {
    const tally = new Tally(job)
    const write = statements === 'one' ? writeEffects : writeEffectsEach
    await pool.query(table)
    const handleBatch = async (batch: readonly KafkaMessage[]): Promise<void> => {
      const client = await pool.connect()
      const query: Query & RowQuery = (text, values) => client.query<Row & Record<string, unknown>>(text, values)
      await handle(query, distinct(batch).map(idOf), async (ids) => {
        for (const id of ids) tally.started(id)
        if (ids.length > 0) await write(query, job, ids)
      })
      client.release()
      tally.ended(batch.length)
    }
    return consumeInBatches(job, tally, batchSize, handleBatch)
  })
}

async function committed(query: RowQuery, take: () => ReturnType<RowQuery>, handleNew: HandleNew): Promise<void> {
  await query('begin')
  const { rows } = await take()
  await handleNew(rows.map(({ id }) => id))
  await query('commit')
}

const idOf = ({ headers }: KafkaMessage): string => String(headers?.[ID_HEADER])
