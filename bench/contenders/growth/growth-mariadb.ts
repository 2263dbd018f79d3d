import { setTimeout as sleep } from 'node:timers/promises'
import { mysqlInbox, type MysqlTransaction } from 'consume-once/mysql2'
import type { Store } from 'consume-once'
import type { ClaimItem } from 'consume-once/spi'
import { createPool, type Pool, type RowDataPacket } from 'mysql2/promise'
import { startPrivateMariadb } from '../../../test/kit/servers/private-mariadb.ts'
import type { Job, Measurement } from '../../suite.ts'
import { claimItems, claimsIn, expectAll } from '../store/store-items.ts'
import { measuredAmong } from './grown.ts'

const TRANSACTIONS = 4

/** Transactions of 500 in a MariaDB of its own, whose log is synced at each COMMIT, as by default. */
export function effectsAmong(records: number, bufferPool: string): (job: Job) => Promise<Measurement> {
  return async (job) => {
    await using server = await startPrivateMariadb({
      settings: {
        'innodb-buffer-pool-size': bufferPool,
        'innodb-log-file-size': '2G',
        'innodb-flush-log-at-trx-commit': '1',
        // Two thirds full, as pages are where keys come in no order.
        'innodb-fill-factor': '70',
      },
    })
    const pool = createPool({ uri: server.url, connectionLimit: TRANSACTIONS + 1 })
    await pool.query('create table effect (id varchar(64) not null, text varchar(16) not null) engine = InnoDB')
    const store = mysqlInbox({ pool })
    await store.open()
    try {
      return await measuredAmong(records, job, {
        batchSize: 500,
        width: TRANSACTIONS,
        pids: server.pids,
        pass: (batch) => markOnce(store, job, batch),
        clear: async () => {
          await pool.query('truncate consume_once_inbox')
          await pool.query('truncate effect')
        },
        fill: (many) => filled(pool, many),
        counters: () => counters(pool),
      })
    } finally {
      await pool.end()
    }
  }
}

async function markOnce(store: Store<MysqlTransaction>, job: Job, batch: readonly ClaimItem[]): Promise<void> {
  const claims = claimsIn(await claimItems(store, batch, job.name))
  const lent = claims[0]?.transaction?.lend()
  if (lent === undefined) throw new Error('expected a transaction')
  await lent.tx.query('insert into effect (id, text) values ?', [batch.map(({ key }) => [key, 'sent'])])
  lent.revoke()
  expectAll(await store.mark(claims), 'marked')
}

/** An empty table is filled in the order of keys, which takes seconds for a million rows. */
async function filled(pool: Pool, records: number): Promise<void> {
  const connection = await pool.getConnection()
  await connection.query('set unique_checks = 0, foreign_key_checks = 0')
  await connection.query(`insert into consume_once_inbox (scope, \`key\`, fp, owner, outcome, done_at)
    select s.id, unhex(md5(n.seq)), unhex(md5(n.seq)), 'abcdefghijkl', 'd', utc_timestamp(6)
    from consume_once_scope s, seq_1_to_${records} n`)
  await connection.query('analyze table consume_once_inbox')
  connection.destroy()
  await flushed(pool)
}

/** All pages are written, as after a while: it writes 200 a second unless it is told to hurry. */
async function flushed(pool: Pool): Promise<void> {
  await pool.query('set global innodb_io_capacity_max = 50000, global innodb_io_capacity = 50000')
  await pool.query('set global innodb_max_dirty_pages_pct_lwm = 0.001, global innodb_max_dirty_pages_pct = 0')
  while (((await statusOf(pool)).Innodb_buffer_pool_pages_dirty ?? 0) > FEW) await sleep(100)
  await pool.query('set global innodb_max_dirty_pages_pct = default, global innodb_max_dirty_pages_pct_lwm = default')
  await pool.query('set global innodb_io_capacity = default, global innodb_io_capacity_max = default')
}

/** Pages that the server itself makes dirty now and then. */
const FEW = 100

async function statusOf(pool: Pool): Promise<Readonly<Record<string, number>>> {
  const [rows] = await pool.query<RowDataPacket[]>(`show global status like 'Innodb_%'`)
  return Object.fromEntries(rows.map(({ Variable_name: name, Value: value }) => [name, Number(value)]))
}

/** Pages that the server did not have in its buffer pool, and those that it wrote; bytes of its log. */
async function counters(pool: Pool): Promise<Record<string, number>> {
  const status = await statusOf(pool)
  return {
    'pages read': status.Innodb_buffer_pool_reads ?? Number.NaN,
    'pages written': status.Innodb_buffer_pool_pages_flushed ?? Number.NaN,
    'log bytes': status.Innodb_os_log_written ?? Number.NaN,
  }
}
