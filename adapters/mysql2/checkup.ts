import { checkFindings, describeError, type AtStart, type CheckFinding } from '../../src/spi.ts'
import { foreignEngines } from './schema/check-engines.ts'
import { missingKeys, withIndexes, type MissingKey } from './schema/check-keys.ts'
import { OTHERS, readOthers, type OtherRow } from './schema/find-keys.ts'
import { readVersion, type VersionRow } from './schema/migration-table.ts'
import { newest } from './schema/migrations.ts'
import { isSerializable, isStrict, readServer, type Server } from './check-server.ts'
import type { MysqlSessions } from './sessions/sessions.ts'
import { errnoOf, isRefusal, NO_SUCH_TABLE } from './sql-errors.ts'
import { lastRows } from './statements/script.ts'
import type { Tables } from './statements/tables.ts'
import { COMMIT } from './statements/transaction.ts'
import { tryClaim, whyNoClaim } from './try-claim.ts'

interface SettingsRow {
  readonly flush_log: number | string
  readonly has_binlog: number | string
  readonly sync_binlog: number | string
}

const READ_SETTINGS = `select @@global.innodb_flush_log_at_trx_commit as flush_log,
  @@global.log_bin as has_binlog, @@global.sync_binlog as sync_binlog`

const AT_START = {
  keys: 'refused',
  engine: 'refused',
  isolation: 'refused',
  primary: 'refused',
  sql_mode: 'refused',
  schema: 'refused',
  timeouts: { startsBecause: 'Short statements on an idle server are answered in time.' },
  claim: 'refused',
  flush: {
    startsBecause:
      'Nothing is lost before the server crashes, and servers for tests and development are set so on purpose.',
  },
} as const satisfies Record<string, AtStart>

const { holds, weaker, unknown, broken } = checkFindings('mysql', AT_START)

const LOST = {
  inbox: 'marks are lost with their effects, after the settle: lost messages',
  lease: 'marks are lost: their messages run again',
} as const

/**
 * Checks how durable the marks of a store are on its server. Changes nothing. Rejects if the server cannot be reached.
 */
export async function checkup(
  sessions: MysqlSessions,
  strategy: 'inbox' | 'lease',
  tables: Tables,
): Promise<readonly CheckFinding[]> {
  const { database } = tables
  const server = await readServer(sessions)
  const sets = await sessions.using((connection) => connection.run([READ_SETTINGS, COMMIT], false))
  const keys = await missingKeys(sessions, database)
  const engines = await foreignEngines(sessions, database)
  const missing = await missingThings(sessions, tables, keys)
  const claim = await judgeClaim(sessions, await withIndexes(sessions, tables), strategy)
  const settings = (lastRows(sets) as readonly SettingsRow[]).flatMap((row) => [
    ...(strategy === 'inbox' ? [judgeIsolation(server)] : []),
    judgeReadOnly(server),
    judgeFlush(row, strategy),
    judgeBinlog(row, strategy),
    judgeMode(server),
    judgeStatementTime(server),
    finding('replication', 'unknown', server.version, [
      'Whether replicas are semi-synchronous is not asked. After a failover to an asynchronous one,',
      `${LOST[strategy]}.`,
    ]),
  ])
  return [...settings, ...claim, ...missing, ...keys.flatMap(judgeKey), ...engines.map(judgeEngine)]
}

/** Before the first `open` no table exists, and nothing is wrong. */
function judgeKey({ isThere, explained }: MissingKey): readonly CheckFinding[] {
  if (!isThere) return []
  return [
    finding('keys', 'broken', explained, [
      'Nothing keeps two claims of one key apart: messages run twice. The store does not open here.',
      'Remove rows that are there twice, then add the key.',
    ]),
  ]
}

/** What is gone although all migrations ran. */
async function missingThings(
  sessions: MysqlSessions,
  tables: Tables,
  keys: readonly MissingKey[],
): Promise<readonly CheckFinding[]> {
  const read = async <Row>(statement: string): Promise<Row | undefined> => {
    const sets = await sessions.using((connection) => connection.run([statement, COMMIT], false))
    return (lastRows(sets) as readonly Row[])[0]
  }
  const version = await read<VersionRow>(readVersion(tables)).catch((error: unknown) => {
    // Before the first `open` there is no table of migrations.
    if (isRefusal(error)) return undefined
    throw error
  })
  if (Number(version?.version ?? 0) < newest()) return []
  const others = await read<OtherRow>(readOthers(tables.database))
  const [hasTable, hasIndex] = [Number(others?.has_table) > 0, Number(others?.has_index) > 0]
  const gone = keys.filter(({ isThere }) => !isThere).map(({ explained }) => explained.split(':', 1).join(''))
  return [
    ...(hasTable
      ? []
      : [
          finding('schema', 'weaker', `table ${OTHERS.table} is missing, and its migrations ran`, [
            'Messages are handled, but no decision of a person can be written. `consume-once migrate print` has the statement that creates it.',
          ]),
        ]),
    ...[...new Set(gone)].map((name) =>
      finding('schema', 'broken', `table ${name} is missing, and its migrations ran`, [
        'The store does not open here. Restore the table with its rows: with an empty one, messages that were done run again.',
      ]),
    ),
    ...(hasTable && !hasIndex
      ? [
          finding('schema', 'weaker', `index ${OTHERS.index} is missing`, [
            'The audit of a message reads all of its table. `consume-once migrate print` has the statement that creates it.',
          ]),
        ]
      : []),
  ]
}

/** No query of an application is meant to end as soon as that. */
const SHORT_MS = 1_000

function judgeStatementTime({ kind, statementMs }: Server): CheckFinding {
  const name = kind === 'mariadb' ? 'max_statement_time' : 'max_execution_time'
  const found = `${name} ${statementMs} ms`
  if (statementMs === 0 || statementMs >= SHORT_MS) return finding('timeouts', 'holds', found)
  return finding('timeouts', 'broken', found, [
    'The server cancels claims, marks and queries of handlers that take longer; they are tried again, and may never succeed.',
    'Set it to seconds, or to 0, for the user of the pool.',
  ])
}

function judgeEngine(explained: string): CheckFinding {
  return finding('engine', 'broken', explained, [
    'A rollback undoes nothing in this table: claims stay without an effect. The store does not open here.',
    'Run: alter table ... engine = InnoDB.',
  ])
}

/** Empty before the first `open`, when the tables do not exist. */
async function judgeClaim(
  sessions: MysqlSessions,
  tables: Tables,
  strategy: 'inbox' | 'lease',
): Promise<readonly CheckFinding[]> {
  try {
    await tryClaim(sessions, tables, strategy)
    return [finding('claim', 'holds', 'a claim was written, and rolled back')]
  } catch (error) {
    if (errnoOf(error) === NO_SUCH_TABLE) return []
    const found = `a claim was refused (${errnoOf(error) ?? 'no answer'})`
    const why = whyNoClaim(error, tables)
    if (why === undefined) return [finding('claim', 'unknown', found, [`${describeError(error)}. Ask again.`])]
    return [finding('claim', 'broken', found, [`${why}. The store does not open here.`])]
  }
}

function judgeIsolation(server: Server): CheckFinding {
  const found = `sessions ask for ${server.isolation}; transactions of handlers are READ-COMMITTED`
  if (!isSerializable(server)) return finding('isolation', 'holds', found)
  return finding('isolation', 'broken', found, ['The store does not open here. Set another level for its sessions.'])
}

function judgeReadOnly({ isReadOnly }: Server): CheckFinding {
  if (!isReadOnly) return finding('primary', 'holds', 'read_only off')
  return finding('primary', 'broken', 'read_only on', [
    'This is a replica, or is treated as one: nothing can be marked on it. Connect to the primary.',
  ])
}

/** 1 flushes at each COMMIT. 2 leaves the flush to the operating system for up to a second, 0 also the write. */
function judgeFlush({ flush_log: flush }: SettingsRow, strategy: 'inbox' | 'lease'): CheckFinding {
  const found = `innodb_flush_log_at_trx_commit ${flush}`
  if (Number(flush) === 1) return finding('flush', 'holds', found)
  const crash = Number(flush) === 2 ? 'When the machine crashes' : 'When the server or its machine crashes'
  return finding('flush', strategy === 'inbox' ? 'broken' : 'weaker', found, [
    `${crash}, ${LOST[strategy]} of up to a second.`,
    'Set innodb_flush_log_at_trx_commit = 1.',
  ])
}

function judgeBinlog(row: SettingsRow, strategy: 'inbox' | 'lease'): CheckFinding {
  const { has_binlog: hasBinlog, sync_binlog: sync } = row
  if (Number(hasBinlog) === 0) return finding('binlog', 'holds', 'log_bin off')
  const found = `log_bin on, sync_binlog ${sync}`
  if (Number(sync) === 1) return finding('binlog', 'holds', found)
  return finding('binlog', 'weaker', found, [
    `When the machine crashes, the binary log may miss what is committed: after a failover to a replica, ${LOST[strategy]}.`,
    'Set sync_binlog = 1.',
  ])
}

function judgeMode(server: Server): CheckFinding {
  if (isStrict(server)) return finding('sql_mode', 'holds', 'sql_mode is strict')
  return finding('sql_mode', 'broken', `sql_mode '${server.sqlMode}'`, [
    'What handlers write is cut where it is too long, without an error, and the store does not open.',
    'Add STRICT_TRANS_TABLES.',
  ])
}

type Breakable = keyof typeof AT_START

function finding(
  ...[check, verdict, found, meaning = []]:
    | [check: Breakable, is: 'broken', found: string, meaning: readonly string[]]
    | [check: string, is: 'weaker' | 'unknown', found: string, meaning: readonly string[]]
    | [check: string, is: 'holds', found: string, meaning?: readonly string[]]
): CheckFinding {
  const text = meaning.join(' ')
  switch (verdict) {
    case 'holds':
      return holds(check, found)
    case 'weaker':
      return weaker(check, found, text)
    case 'unknown':
      return unknown(check, found, text)
    case 'broken':
      return broken(check, found, text)
  }
}
