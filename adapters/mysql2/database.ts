import type { DurationMs } from '../../src/spi.ts'
import { Database } from '../sql/database.ts'
import type { InboxPlace } from '../sql/inbox/statements.ts'
import { checkServer } from './check-server.ts'
import { mysqlHistory } from './history.ts'
import { mysqlInbox } from './inbox/inbox.ts'
import { refuseSerializable } from './isolation.ts'
import type { ResolvedMysql } from './options.ts'
import { checkEngines } from './schema/check-engines.ts'
import { checkKeys } from './schema/check-keys.ts'
import { migrate } from './schema/migrate.ts'
import { MysqlSessions } from './sessions/sessions.ts'
import { findScopes, registerScope, shareScope } from './statements/register-scope.ts'
import { tablesIn, type Tables } from './statements/tables.ts'
import type { MysqlTransaction } from './tx/mysql-transaction.ts'

/** Database, tables and ID of a scope. */
export interface MysqlPlace extends InboxPlace<MysqlTransaction> {
  readonly sessions: MysqlSessions
  readonly tables: Tables
  readonly lockTimeoutMs: DurationMs
}

export interface MysqlDatabase {
  readonly sessions: MysqlSessions
  readonly lockTimeoutMs: DurationMs
  readonly database: Database<MysqlPlace, Tables>
}

export function databaseOf(options: ResolvedMysql, strategy: 'inbox' | 'lease'): MysqlDatabase {
  const { pool, max, limits, database: wanted, setup: mode } = options
  const { lockTimeoutMs } = limits
  const sessions = new MysqlSessions(pool, max, limits)
  const prepare = async (): Promise<Tables> => {
    const { kind, database } = await checkServer(sessions, wanted)
    sessions.asOne = kind === 'mariadb'
    const tables = tablesIn(database)
    await migrate(sessions, tables, mode)
    await checkEngines(sessions, database)
    await checkKeys(sessions, database)
    if (strategy === 'inbox') await refuseSerializable(sessions)
    return tables
  }
  const database = new Database({
    sessions,
    prepare,
    at: (tables: Tables, scope, losses) => {
      const [inbox, history] = [mysqlInbox(sessions, tables, scope), mysqlHistory(tables, scope, strategy)]
      return { sessions, tables, scope, losses, lockTimeoutMs, inbox, history }
    },
    scopes: { find: findScopes, register: registerScope, share: shareScope },
  })
  return { sessions, lockTimeoutMs, database }
}
