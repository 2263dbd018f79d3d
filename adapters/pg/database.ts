import type { DurationMs, IdleLimit, Outbox, Strategy } from '../../src/internal.ts'
import { checkClaim } from '../sql/checkup.ts'
import { Database } from '../sql/database.ts'
import type { InboxPlace } from '../sql/inbox/statements.ts'
import type { LeasePlace as LeaseStatementsPlace } from '../sql/lease/statements.ts'
import { pgHistory } from './history.ts'
import { pgLeases } from './lease/leases.ts'
import { pgInbox } from './inbox/inbox.ts'
import { SQL } from '../sql/options.ts'
import { transactionsOn, type PoolOptions } from './options.ts'
import type { OutgoingPlace } from '../sql/place.ts'
import { PoolSessions } from './sessions/pool-sessions.ts'
import type { PgSessions } from './sessions/session.ts'
import type { Flushing } from './statements/transaction.ts'
import { announceTicker, findScope, registerScope } from './statements/register-scope.ts'
import type { Tables } from './statements/tables.ts'
import { trialClaim } from './try-claim.ts'
import type { PgTransaction } from './tx/pg-transaction.ts'

/** Database, tables and ID of a scope. */
export interface PgPlace extends InboxPlace<PgTransaction>, LeaseStatementsPlace {
  readonly sessions: PgSessions
  readonly tables: Tables
  readonly lockTimeoutMs: DurationMs
}

export interface PgParts {
  readonly sessions: PgSessions
  readonly tables: Tables
  readonly lockTimeoutMs: DurationMs
  /** Missing: none. */
  readonly idleLimit?: IdleLimit | undefined
  /** Where handlers publish; missing: nowhere. */
  readonly outbox?: (Outbox & OutgoingPlace) | undefined
  /** How marks are flushed. */
  readonly flushing: Flushing
  /** Checks the server and brings the schema up to date. */
  readonly prepare: () => Promise<void>
}

export function databaseOf(parts: PgParts, strategy: Strategy): Database<PgPlace, Tables> {
  const { sessions, tables, lockTimeoutMs, flushing, prepare, outbox } = parts
  return new Database({
    sessions,
    tables,
    prepare: async () => {
      await prepare()
      await checkClaim(trialClaim(sessions, tables, strategy))
      return tables
    },
    at: (_, scope, losses) => {
      const [inbox, history] = [pgInbox(sessions, tables, scope), pgHistory(tables, scope, strategy)]
      const leases = pgLeases(sessions, tables, scope)
      return { sessions, tables, scope, losses, lockTimeoutMs, inbox, leases, history, outgoing: outbox }
    },
    scopes: {
      find: findScope,
      register: registerScope,
      begin: flushing === 'late' ? announceTicker : undefined,
    },
  })
}

export function sessionsOn(options: PoolOptions): PoolSessions {
  const { pool, durability, lockTimeoutMs, queryTimeoutMs, statementTimeoutMs } = options
  const { idleInTransactionTimeoutMs = SQL.idleInTransactionTimeoutMs.default } = options
  const limits = { lockTimeoutMs, queryTimeoutMs, statementTimeoutMs, idleInTransactionTimeoutMs }
  return new PoolSessions(pool, transactionsOn(options), limits, flushingOf(durability))
}

export function flushingOf(durability: PoolOptions['durability']): Flushing {
  return durability === 'flush-ticker' ? 'late' : 'at-once'
}
