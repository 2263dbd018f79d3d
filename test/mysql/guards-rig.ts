import { createConnection, createPool, type Connection } from 'mysql2/promise'
import { hold, newItem } from '../../testing/contract/store/claims.ts'
import { eventually } from '../kit/eventually.ts'
import { server } from '../kit/servers/server.ts'
import { TABLES, type GuardRig, type Session } from '../kit/suites/guards.ts'
import { lend, newMysqlPlace, type MysqlPlace } from './support.ts'

type Rows = Record<string, unknown>[]

/** `flags`: what mysql2 asks of the server. `url`: another server than that of the tests. */
export async function newMysqlGuardRig(flags: string[], url?: string): Promise<GuardRig> {
  const uri = url ?? (await server('mariadb')).url
  const place = await newMysqlPlace(uri)
  const { database } = place
  const pool = createPool({ uri, database, flags, connectionLimit: 4, supportBigNumbers: true })
  const inbox = await place.newInbox({ pool })
  for (const table of TABLES) await pool.query(`${table} engine = InnoDB`)
  const connections: Connection[] = []
  const session = async (): Promise<Session> => {
    const connection = await createConnection({ uri, database, flags, supportBigNumbers: true })
    connections.push(connection)
    return sessionOf(connection)
  }
  return {
    pool,
    session,
    clients: {
      Connection: async () => {
        const made = await session()
        await made.run('begin')
        return made
      },
      PoolConnection: async () => {
        const connection = await pool.getConnection()
        await connection.beginTransaction()
        return sessionOf(connection, () => connection.release())
      },
      'ctx.tx': async () => {
        const { claim } = await hold(inbox, newItem())
        const { tx } = lend(claim)
        const run = async (sql: string): Promise<Rows> => (await tx.query(sql))[0]
        return { tx, run, end: async () => void (await inbox.mark([claim])), roundTrips: () => questionsOf(run) }
      },
    },
    failsAfterChange: await hasSnapshotIsolation(place),
    costs: { ofCounting: 1, ofRepeat: 2 },
    waiting: () =>
      eventually(async () => {
        const waits = await place.rows(place.isMariadb ? waitsOnMariadb(database) : waitsOnMysql(database))
        return waits.length > 0
      }),
    async close() {
      for (const connection of connections) connection.destroy()
      await pool.end()
      await place.close()
    },
  }
}

/** MariaDB 11.6.2 and newer, where transactions are REPEATABLE READ unless they ask for less. */
async function hasSnapshotIsolation(place: MysqlPlace): Promise<boolean> {
  const [found] = await place.rows(`show session variables like 'innodb_snapshot_isolation'`)
  return found?.['Value'] === 'ON'
}

function sessionOf(client: Pick<Connection, 'query' | 'execute'>, done: () => void = () => {}): Session {
  const run = async (sql: string): Promise<Rows> => (await client.query(sql))[0] as Rows
  return {
    tx: client,
    run,
    roundTrips: () => questionsOf(run),
    end: async (how) => {
      await client.query(how)
      done()
    },
  }
}

/** Counts the statements of this session, this one included. */
async function questionsOf(run: (sql: string) => Promise<Rows>): Promise<number> {
  const [row] = await run("show session status like 'Questions'")
  return Number(row?.['Value'])
}

/** Not innodb_trx: it shows what it did 0.1 s before, and what it did at the last look if that was later. */
function waitsOnMariadb(database: string): string {
  return `select 1 from information_schema.processlist
    where db = '${database}' and command in ('Query', 'Execute') and id <> connection_id() and time_ms > 200`
}

function waitsOnMysql(database: string): string {
  return `select 1 from performance_schema.data_lock_waits
    join performance_schema.threads on thread_id = requesting_thread_id where processlist_db = '${database}'`
}
