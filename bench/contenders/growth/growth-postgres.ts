import { postgresInbox } from 'consume-once/pg'
import { Pool } from 'pg'
import { startPrivatePostgres } from '../../../test/kit/servers/private-postgres.ts'
import type { Job, Measurement } from '../../suite.ts'
import { markOnce } from '../store/postgres-store.ts'
import { itemsOf } from '../store/store-items.ts'
import { measuredAmong } from './grown.ts'

const TRANSACTIONS = 4

/**
 * Transactions of 500 in a Postgres of its own. No checkpoint comes while the time is taken, and the disk is synced as by
 * default.
 */
export function effectsAmong(records: number, sharedBuffers: string): (job: Job) => Promise<Measurement> {
  return async (job) => {
    const settings = { shared_buffers: sharedBuffers, fsync: 'on', max_wal_size: '16GB', checkpoint_timeout: '1h' }
    await using server = await startPrivatePostgres({ settings })
    const pool = new Pool({ connectionString: server.url, max: TRANSACTIONS + 1 })
    const beside = new Pool({ connectionString: server.url, max: 1 })
    const schema = `${job.name}_inbox`
    await pool.query(
      `create schema ${job.name}; create table ${job.name}.effect (id text not null, text text not null)`,
    )
    const store = postgresInbox({ pool, schema })
    await store.open()
    try {
      return await measuredAmong(records, job, {
        batchSize: 500,
        width: TRANSACTIONS,
        pids: server.pids,
        pass: (batch) => markOnce(store, job, batch),
        clear: async () => {
          await markOnce(store, job, itemsOf('last of the warm-up', 1))
          await pool.query(`truncate ${schema}.inbox, ${job.name}.effect`)
        },
        fill: (many) => filled(pool, schema, many),
        counters: () => counters(pool, beside),
      })
    } finally {
      await Promise.all([pool.end(), beside.end()])
    }
  }
}

/** Two thirds full, as pages are where keys come in no order. */
const PAGES = 'with (fillfactor = 70)'

async function filled(pool: Pool, schema: string, records: number): Promise<void> {
  const fill = `insert into ${schema}.inbox (scope, key, fp)
    select s.id, decode(md5(n::text), 'hex'), decode(md5(n::text), 'hex')
    from ${schema}.scope s, generate_series($1::int, $2::int) n`
  await pool.query(`alter table ${schema}.inbox drop constraint inbox_pkey`)
  await pool.query(fill, [1, records])
  await pool.query(`alter table ${schema}.inbox add constraint inbox_pkey primary key (scope, key) ${PAGES}`)
  await pool.query(`vacuum analyze ${schema}.inbox`)
  await pool.query('checkpoint')
  // After a checkpoint the first write to a page logs all of it: paid here, as by a process that has run for a while.
  await pool.query(fill, [records + 1, records + Math.ceil(records / 50)])
}

/** Pages that were looked for, and those that the server did not have in its buffers; bytes of WAL. */
async function counters(pool: Pool, beside: Pool): Promise<Record<string, number>> {
  const clients = await Promise.all(Array.from({ length: TRANSACTIONS + 1 }, () => pool.connect()))
  // A backend tells what it has counted once in a while, unless it is asked to.
  for (const client of clients) await client.query('select pg_stat_force_next_flush()')
  for (const client of clients) client.release()
  const { rows } =
    await beside.query(`select sum(idx_blks_hit + idx_blks_read)::float8 as looked, sum(idx_blks_read)::float8 as read,
    (pg_current_wal_insert_lsn() - '0/0')::float8 as wal from pg_statio_user_indexes where indexrelname = 'inbox_pkey'`)
  const [{ looked, read, wal } = { looked: 0, read: 0, wal: 0 }] = rows as {
    looked: number
    read: number
    wal: number
  }[]
  return { 'index pages': looked, 'index pages read': read, 'WAL bytes': wal }
}
