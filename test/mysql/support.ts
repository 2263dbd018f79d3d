import { describe } from '@jest/globals'
import { createPool, type Pool, type PoolOptions } from 'mysql2/promise'
import { mysqlInbox, type MysqlInboxOptions, type MysqlTransaction } from '../../adapters/mysql2/index.ts'
import type { InboxStore } from '../../src/internal.ts'
import type { InboxHarness } from '../../testing/contract/store/harness.ts'
import { backends } from '../kit/backends.ts'
import { evadingTexts, MYSQL_COMMENTS, MYSQL_ENDINGS } from '../kit/evading-texts.ts'
import { uniqueName } from '../kit/namespace.ts'
import { server } from '../kit/servers/server.ts'

export { codeOf } from '../kit/code-of.ts'
export { lend } from '../kit/lend.ts'

export const describeMariadb: typeof describe | typeof describe.skip = backends.has('mariadb')
  ? describe
  : describe.skip

export const NO_REFUND = { refund: false, doubt: false }
export const ALONE = { alone: true }

/** A database of one test, for the stores and effects, with as many pools as the test wants. */
export interface MysqlPlace {
  readonly database: string
  /** Not MySQL. */
  readonly isMariadb: boolean
  /** Outside all stores. */
  readonly pool: Pool
  readonly newPool: (config?: PoolOptions) => Pool
  /** Opened, on a pool of its own unless one is given. */
  readonly newInbox: (options?: Partial<MysqlInboxOptions>) => Promise<InboxStore<MysqlTransaction>>
  readonly write: (tx: MysqlTransaction, effect: string) => Promise<unknown>
  readonly committed: (effect: string) => Promise<number>
  readonly rows: (sql: string) => Promise<Record<string, unknown>[]>
  /** Messages of a mark, the last of them the COMMIT. MariaDB takes them as one. */
  readonly messagesOfMark: number
  /** Makes it as new, with all pools but its own ended. */
  readonly empty: () => Promise<boolean>
  readonly close: () => Promise<void>
}

export async function newMysqlPlace(url?: string): Promise<MysqlPlace> {
  const uri = url ?? (await server('mariadb')).url
  const database = uniqueName('mysql')
  const pools: Pool[] = []
  const newPool = (config: PoolOptions = {}): Pool => {
    const pool = createPool({ uri, connectionLimit: 5, ...config, database })
    pools.push(pool)
    return pool
  }
  const admin = createPool({ uri, connectionLimit: 1 })
  await admin.query(`create database ${database}`)
  const pool = newPool({ connectionLimit: 2, multipleStatements: true })
  await pool.query('create table effect (name varchar(200) not null) engine = InnoDB')
  const rows = async (sql: string): Promise<Record<string, unknown>[]> =>
    (await pool.query(sql))[0] as Record<string, unknown>[]
  const [about] = await rows('select version() as version')
  const isMariadb = String(about?.['version']).includes('MariaDB')
  return {
    database,
    isMariadb,
    pool,
    messagesOfMark: isMariadb ? 1 : 6,
    newPool,
    async newInbox(options) {
      const inbox = mysqlInbox({ pool: options?.pool ?? newPool(), ...options })
      await inbox.open()
      return inbox
    },
    write: (tx, effect) => tx.query('insert into effect (name) values (?)', [effect]),
    async committed(effect) {
      return (await rows(`select name from effect where name = '${effect}'`)).length
    },
    rows,
    async empty() {
      await Promise.all(pools.splice(1).map((one) => one.end()))
      const tables = await rows(
        `select table_name as name from information_schema.tables where table_schema = '${database}' and table_name <> 'consume_once_migration'`,
      )
      await pool.query(tables.map(({ name }) => `delete from ${String(name)}`).join(';'))
      return true
    },
    async close() {
      // What a test left open must not be waited for: a table in use cannot be dropped.
      const left = await rows(
        `select id from information_schema.processlist where db = '${database}' and id <> connection_id()`,
      )
      for (const { id } of left) await admin.query(`kill ${Number(id)}`).catch(() => {})
      await admin.query(`drop database if exists ${database}`)
      await Promise.all([admin, ...pools].map((one) => one.end().catch(() => {})))
    },
  }
}

export async function mysqlInboxHarness(
  openPlace: () => Promise<MysqlPlace> = newMysqlPlace,
): Promise<InboxHarness<MysqlTransaction>> {
  const place = await openPlace()
  return {
    store: await place.newInbox(),
    secondStore: () => place.newInbox(),
    write: place.write,
    stall: (tx) => tx.query('select sleep(0.5)'),
    query: (tx, text) => tx.query(text),
    fail: (tx) => tx.query('select * from there_is_no_such_table'),
    evade,
    committed: place.committed,
    spoil: async (key) => {
      const hex = Buffer.from(key, 'base64url').toString('hex', 0, 16)
      await place.pool.query(`update consume_once_inbox set outcome = 'Z' where \`key\` = x'${hex}'`)
    },
    close: place.close,
  }
}

const TEXTS = evadingTexts(MYSQL_ENDINGS, MYSQL_COMMENTS)

let evaded = 0

/** Each law goes on where the one before it has ended, so that together they try them all. */
async function evade(tx: MysqlTransaction): Promise<string> {
  const { text, hasValues } = TEXTS[evaded++ % TEXTS.length] ?? { text: 'commit', hasValues: false }
  await (hasValues ? tx.execute(text, []) : tx.query(text)).catch(() => {})
  return text
}

export async function threadOf(tx: MysqlTransaction): Promise<number> {
  const [rows] = await tx.query<{ id: number }[]>('select connection_id() as id')
  return rows[0]?.id ?? 0
}
