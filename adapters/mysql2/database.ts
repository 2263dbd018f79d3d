import type { DurationMs } from '../../src/internal.ts'
import { checkClaim } from '../sql/checkup.ts'
import { Database } from '../sql/database.ts'
import type { InboxPlace } from '../sql/inbox/statements.ts'
import type { LeasePlace } from '../sql/lease/statements.ts'
import type { OutgoingPlace } from '../sql/place.ts'
import { bringUp } from '../sql/schema/migrations.ts'
import { checkServer } from './check-server.ts'
import { trialClaim } from './try-claim.ts'
import { mysqlHistory } from './history.ts'
import { mysqlLeases } from './lease/leases.ts'
import { mysqlInbox } from './inbox/inbox.ts'
import { maxOf, type PoolOptions } from './options.ts'
import { checkEngines } from './schema/check-engines.ts'
import { checkKeys } from './schema/check-keys.ts'
import { schemaOf } from './schema/migrate.ts'
import { MysqlSessions } from './sessions/sessions.ts'
import { findScope, registerScope } from './statements/register-scope.ts'
import { tablesIn, type Tables } from './statements/tables.ts'
import type { MysqlTransaction } from './tx/mysql-transaction.ts'

/** Database, tables and ID of a scope. */
export interface MysqlPlace extends InboxPlace<MysqlTransaction>, LeasePlace {
  readonly sessions: MysqlSessions
  readonly tables: Tables
  readonly lockTimeoutMs: DurationMs
}

export interface MysqlDatabase {
  readonly sessions: MysqlSessions
  readonly lockTimeoutMs: DurationMs
  readonly database: Database<MysqlPlace, Tables>
}

export function databaseOf(options: PoolOptions, strategy: 'inbox' | 'lease', outbox?: OutgoingPlace): MysqlDatabase {
  const { lockTimeoutMs, database: name, setup: mode } = options
  const tables = tablesIn(name)
  const sessions = sessionsOn(options)
  const prepare = async (): Promise<Tables> => {
    await prepareOn(sessions, tables, mode, strategy)
    await checkEngines(sessions, name)
    const known = await checkKeys(sessions, tables)
    await checkClaim(trialClaim(sessions, known, strategy))
    return known
  }
  const database = new Database({
    sessions,
    prepare,
    at: (known: Tables, scope, losses) => {
      const [inbox, history] = [mysqlInbox(sessions, known, scope), mysqlHistory(known, scope, strategy)]
      const leases = mysqlLeases(sessions, known, scope)
      return { sessions, tables: known, scope, losses, lockTimeoutMs, inbox, leases, history, outgoing: outbox }
    },
    scopes: { find: findScope, register: registerScope },
  })
  return { sessions, lockTimeoutMs, database }
}

/** Checks the server and brings the tables up to date. */
export async function prepareOn(
  sessions: MysqlSessions,
  tables: Tables,
  mode: 'auto' | 'check',
  strategy: 'inbox' | 'lease' = 'inbox',
): Promise<void> {
  const { kind, idle } = await checkServer(sessions, strategy)
  sessions.asOne = kind === 'mariadb'
  sessions.lift([...idle.keys()])
  await bringUp(schemaOf(tables), sessions, mode)
}

export function sessionsOn({ pool, ...limits }: PoolOptions): MysqlSessions {
  return new MysqlSessions(pool, maxOf(pool), limits)
}
