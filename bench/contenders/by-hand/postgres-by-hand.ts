import type { Pool } from 'pg'
import type { Job } from '../../suite.ts'
import type { Tally } from '../../tally.ts'
import { inboxTable, writeEffects, writeEffectsEach, type Query } from '../clients/postgres-client.ts'

const MAX_ATTEMPTS = 5

/** An inbox written by hand, a batch at a time. */
export interface ByHand {
  /** Creates it. */
  readonly table: (job: Job) => string
  /** Finds out which of these are new and has them handled. */
  readonly handle: (query: RowQuery, job: Job, ids: readonly string[], handleNew: HandleNew) => Promise<void>
}

/** Effects of a batch: all rows in one statement, or each in its own, as handlers write that know of no batch. */
export type Statements = 'one' | 'each'

type RowQuery = (text: string, values?: unknown[]) => Promise<{ readonly rows: readonly Row[] }>
type HandleNew = (ids: readonly string[]) => Promise<void>
interface Row {
  readonly id: string
  readonly attempts?: number
}

/** Rows into an inbox table, effects, COMMIT. No attempts, no digest. In order, so that no two batches wait for each other. */
export const plainInbox: ByHand = {
  table: inboxTable,
  handle: (query, { name }, ids, handleNew) => {
    const insert = `insert into ${name}.inbox (id) select id from unnest($1::text[]) as id order by id
      on conflict do nothing returning id`
    return committed(query, () => query(insert, [ids]), handleNew)
  },
}

/**
 * For messages that may kill the process: a transaction of its own counts the attempt, and is durable before an effect
 * begins. The library counts before as well, and does not wait for the disk there.
 */
export const countedInbox: ByHand = {
  table: ({ name }) =>
    `create table ${name}.inbox (id text primary key, attempts int not null default 1, done bool not null default false,
      at timestamptz not null default now())`,
  handle: async (query, { name }, ids, handleNew) => {
    const count = `insert into ${name}.inbox as known (id) select id from unnest($1::text[]) as id order by id
      on conflict (id) do update set attempts = known.attempts + 1 where not known.done returning id, attempts`
    // Where another delivery of it is under way, this waits for its end, and finds it done.
    const take = `update ${name}.inbox set done = true where id = any($1) and not done returning id`
    const { rows } = await query(count, [ids])
    if (rows.some(({ attempts = 0 }) => attempts > MAX_ATTEMPTS)) throw new Error('a message that was tried too often')
    if (rows.length > 0) await committed(query, () => query(take, [rows.map(({ id }) => id)]), handleNew)
  },
}

/** Handles the new messages of a batch that has no duplicates in itself. */
export async function handleByHand(
  { handle }: ByHand,
  statements: Statements,
  { pool, job, tally }: { readonly pool: Pool; readonly job: Job; readonly tally: Tally },
  ids: readonly string[],
): Promise<void> {
  const client = await pool.connect()
  const query: Query & RowQuery = (text, values) => client.query<Row & Record<string, unknown>>(text, values)
  const write = statements === 'one' ? writeEffects : writeEffectsEach
  await handle(query, job, ids, async (fresh) => {
    for (const id of fresh) tally.started(id)
    if (fresh.length > 0) await write(query, job, fresh)
  })
  client.release()
}

async function committed(query: RowQuery, take: () => ReturnType<RowQuery>, handleNew: HandleNew): Promise<void> {
  await query('begin')
  const { rows } = await take()
  await handleNew(rows.map(({ id }) => id))
  await query('commit')
}
