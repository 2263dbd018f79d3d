import type { CheckFinding, Strategy } from '../../src/internal.ts'
import { judgeClaim, judgeKeys, judgeMissing } from '../sql/checkup.ts'
import { findings, judgeSettings, judgeStandbys, LOSSES, unknown } from './judge-server.ts'
import { newestOf } from '../sql/schema/migrations.ts'
import { MIGRATIONS } from './schema/migrations.ts'
import type { Pooling, PgSessions } from './sessions/session.ts'
import type { Flushing } from './statements/transaction.ts'
import { isRefusal, sqlState } from './sql-errors.ts'
import { findMissingKeys } from './schema/find-keys.ts'
import {
  READ_SETTINGS,
  READ_STANDBYS,
  findMissingThings,
  readTables,
  type TableRow,
} from './statements/read-settings.ts'
import type { Statement } from './statements/statement.ts'
import type { Tables } from './statements/tables.ts'
import { trialClaim } from './try-claim.ts'

const { holds, weaker, broken } = findings

interface CheckedParts {
  readonly sessions: PgSessions
  readonly tables: Tables
  readonly flushing?: Flushing
}

/**
 * Checks how durable the marks of a store are on its server. Changes nothing. Rejects if the server cannot be reached.
 */
export async function checkup(
  { sessions, tables, flushing = 'at-once' }: CheckedParts,
  strategy: Strategy,
): Promise<readonly CheckFinding[]> {
  const loss = LOSSES[strategy === 'lease' ? 'lease' : 'transaction']
  const [settings, standbys, ofTables, keys, missing] = [
    await ask(sessions, READ_SETTINGS),
    await ask(sessions, READ_STANDBYS),
    await ask(sessions, readTables(tables)),
    await ask(sessions, findMissingKeys(tables)),
    await ask(sessions, findMissingThings(tables, newestOf(MIGRATIONS))),
  ]
  const pooling = await sessions.pooling()
  const claim = pooling === 'by-statement' ? [] : await judgeClaim(findings, trialClaim(sessions, tables, strategy))
  return [
    ...('refused' in settings
      ? [unknown('settings', settings.refused)]
      : settings.rows.flatMap((row) => judgeSettings(row, loss))),
    ...('refused' in standbys
      ? [unknown('replication', standbys.refused)]
      : standbys.rows.map((row) => judgeStandbys(row, loss, 'rows' in settings ? settings.rows[0] : undefined))),
    ...('refused' in ofTables ? [unknown('tables', ofTables.refused)] : ofTables.rows.flatMap(judgeTable)),
    ...('refused' in keys ? [unknown('keys', keys.refused)] : judgeKeys(findings, keys.rows)),
    // Refused before the first `open`, when there is no table of migrations.
    ...('rows' in missing ? missing.rows.map((row) => judgeMissing(findings, row)) : []),
    ...claim,
    judgePooler(pooling, flushing),
  ]
}

type Asked<Row> = { readonly rows: readonly Row[] } | { readonly refused: string }

async function ask<Row>(sessions: PgSessions, statement: Statement<Row>): Promise<Asked<Row>> {
  try {
    return { rows: await sessions.committed(statement) }
  } catch (error) {
    if (isRefusal(error)) return { refused: `the server answered ${sqlState(error)}` }
    throw error
  }
}

function judgeTable({ name, is_logged: isLogged, has_autovacuum: hasAutovacuum }: TableRow): readonly CheckFinding[] {
  const found: CheckFinding[] = []
  if (!isLogged) {
    const text =
      'A crash of the server empties the table: messages that were done run again. Run: alter table ... set logged.'
    found.push(broken('tables', `${name} is unlogged`, text))
  }
  if (!hasAutovacuum) {
    const text =
      'Postgres does not reuse the space of purged and updated rows: the table grows and claims get slower. Reset autovacuum_enabled.'
    found.push(weaker('tables', `${name} has autovacuum_enabled false`, text))
  }
  return found
}

function judgePooler(pooling: Pooling | undefined, flushing: Flushing): CheckFinding {
  if (pooling === undefined) return unknown('pooler', 'the client does not tell its backend')
  if (pooling === 'none') return holds('pooler', 'no pooler')
  if (pooling === 'by-statement') {
    return broken(
      'pooler',
      'a pooler that lets nobody begin a transaction',
      'The store does not open here. Set pool_mode = transaction for this database, or connect directly.',
    )
  }
  if (flushing === 'at-once') return holds('pooler', 'a pooler')
  return weaker(
    'pooler',
    'a pooler, with a flush ticker',
    'When the pooler changes the backend that flushes, marks are asked for again. Connect directly, or use durability commit.',
  )
}
