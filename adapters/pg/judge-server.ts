import { checkFindings, type AtStart, type CheckFinding, type CheckFindings } from '../../src/internal.ts'
import { isShort, SHORT_STATEMENTS } from '../sql/checkup.ts'
import type { SettingsRow, StandbyRow } from './statements/read-settings.ts'

const OLDEST = 130_000

const UNTIL_A_CRASH = {
  startsBecause:
    'Nothing is lost before the server crashes, and servers for tests and development are set so on purpose.',
} as const

type Breakable =
  | 'version'
  | 'primary'
  | 'writable'
  | 'fsync'
  | 'tables'
  | 'keys'
  | 'schema'
  | 'timeouts'
  | 'claim'
  | 'pooler'

const AT_START: Readonly<Record<Breakable, AtStart>> = {
  version: 'refused',
  primary: 'refused',
  writable: 'refused',
  fsync: UNTIL_A_CRASH,
  tables: UNTIL_A_CRASH,
  keys: 'refused',
  schema: 'refused',
  timeouts: { startsBecause: 'Short statements on an idle server are answered in time.' },
  claim: 'refused',
  pooler: 'refused',
}

export const findings: CheckFindings<Breakable> = checkFindings('postgres', AT_START)
const { holds, weaker, weakerByDefault, broken } = findings

/** The consequence if the server loses committed data. */
export interface Loss {
  readonly text: string
  readonly judge: (check: 'fsync', found: string, meaning: string) => CheckFinding
}

export const LOSSES: { readonly [kind in 'transaction' | 'lease']: Loss } = {
  transaction: { text: 'marks are lost with their effects, after the settle: lost messages', judge: broken },
  lease: { text: 'marks are lost, and what is delivered again runs again: duplicates', judge: weaker },
}

export function judgeSettings(row: SettingsRow, loss: Loss): readonly CheckFinding[] {
  const { fsync, full_page_writes: pages, synchronous_commit: commit, isolation, autovacuum, encoding } = row
  return [
    row.version < OLDEST
      ? broken(
          'version',
          `server_version_num ${row.version}`,
          'The store needs Postgres 13 or newer, and does not open here.',
        )
      : holds('version', `server_version_num ${row.version}`),
    row.in_recovery
      ? broken(
          'primary',
          'pg_is_in_recovery true',
          'This is a replica: nothing can be marked on it, and it misses marks that the primary has. Connect to the primary.',
        )
      : holds('primary', 'pg_is_in_recovery false'),
    row.read_only
      ? broken(
          'writable',
          'default_transaction_read_only on',
          'Statements of the store are refused. Use a role and a database without it.',
        )
      : holds('writable', 'default_transaction_read_only off'),
    fsync
      ? holds('fsync', 'fsync on')
      : loss.judge('fsync', 'fsync off', `When its machine crashes, ${loss.text}. Set fsync = on.`),
    pages
      ? holds('full_page_writes', 'full_page_writes on')
      : weaker(
          'full_page_writes',
          'full_page_writes off',
          'A crash of the machine in the middle of a write may leave torn pages, and marks among them. Set it on, unless the file system prevents that.',
        ),
    // Marks are committed with `on` regardless, or with `remote_apply` if that is configured.
    holds(
      'synchronous_commit',
      `synchronous_commit ${commit}; marks are committed with ${commit === 'remote_apply' ? commit : 'on'}`,
    ),
    holds('isolation', `default_transaction_isolation ${isolation}; transactions of handlers have it`),
    ...judgeTimeout(row),
    ...judgeShortTimeouts(row),
    autovacuum
      ? holds('autovacuum', 'autovacuum on')
      : weaker(
          'autovacuum',
          'autovacuum off',
          'Postgres does not reuse the space of purged and updated rows: tables grow and claims get slower. Set autovacuum = on.',
        ),
    encoding === 'UTF8' || encoding === 'SQL_ASCII'
      ? holds('encoding', `server_encoding ${encoding}`)
      : weaker(
          'encoding',
          `server_encoding ${encoding}`,
          'A result with a character that the database does not have cannot be kept: its mark is refused, and its handler runs again.',
        ),
  ]
}

/** Only Postgres 17 and newer have it. */
function judgeTimeout({ transaction_timeout: timeout }: SettingsRow): readonly CheckFinding[] {
  if (timeout === null) return []
  const found = `transaction_timeout ${timeout}`
  if (timeout === '0') return [holds('transaction_timeout', found)]
  const meaning =
    'A handler whose transaction takes longer is never marked. Set it above handlerTimeoutMs, or to 0, for the role of the pool.'
  return [weaker('transaction_timeout', found, meaning)]
}

function judgeShortTimeouts(row: SettingsRow): readonly CheckFinding[] {
  const short: CheckFinding[] = []
  if (isShort(row.statement_timeout_ms)) {
    const meaning = `${SHORT_STATEMENTS} Set it to seconds, or to 0, for the role of the pool.`
    short.push(broken('timeouts', `statement_timeout ${row.statement_timeout_ms} ms`, meaning))
  }
  if (isShort(row.lock_timeout_ms)) {
    const meaning =
      'Queries of handlers that wait longer for a lock fail, and spend attempts. Set it to seconds, or to 0, for the role of the pool.'
    short.push(weaker('timeouts', `lock_timeout ${row.lock_timeout_ms} ms`, meaning))
  }
  if (isShort(row.idle_session_timeout_ms)) {
    const meaning = 'The server closes connections of the pool between two calls. Set it to minutes, or to 0.'
    short.push(weaker('timeouts', `idle_session_timeout ${row.idle_session_timeout_ms} ms`, meaning))
  }
  return short.length > 0 ? short : [holds('timeouts', 'no time-out below 1 s')]
}

export function judgeStandbys(
  { standbys, synchronous, is_shown: isShown }: StandbyRow,
  loss: Loss,
  settings?: SettingsRow,
): CheckFinding {
  const names = settings?.synchronous_standby_names ?? ''
  const found = `synchronous_standby_names '${names}', ${standbys} standbys`
  if (standbys > 0 && !isShown) return unknown('replication', `${found}; grant pg_read_all_stats to see which wait`)
  const counted = `${found}, ${synchronous} synchronous`
  if (names === '') {
    if (standbys === 0) return holds('replication', counted)
    return weakerByDefault(
      'replication',
      counted,
      `After a failover to an asynchronous standby the last ${loss.text}. Set synchronous_standby_names, or set the positions of consumers back by the recovery point after a failover.`,
    )
  }
  if (synchronous > 0) return holds('replication', counted)
  return weaker(
    'replication',
    counted,
    'No synchronous standby is connected: COMMITs wait, and nothing is marked, until one comes.',
  )
}

export function unknown(check: string, found: string): CheckFinding {
  return findings.unknown(check, found, 'This role may not read it: ask the administrator of the server.')
}
