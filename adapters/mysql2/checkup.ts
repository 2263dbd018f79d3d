import { checkFindings, type AtStart, type CheckFinding } from '../../src/internal.ts'
import { isShort, judgeClaim, judgeKeys, judgeMissing, SHORT_STATEMENTS, type MissingThing } from '../sql/checkup.ts'
import type { MissingKey } from '../sql/schema/keys.ts'
import { pendingOf } from '../sql/schema/migrations.ts'
import { foreignEngines } from './schema/check-engines.ts'
import { missingKeys, withIndexes } from './schema/check-keys.ts'
import { OTHERS, readOthers, type OtherRow } from './schema/find-keys.ts'
import { schemaOf } from './schema/migrate.ts'
import { isSerializable, isStrict, readServer, type Server } from './check-server.ts'
import type { MysqlSessions } from './sessions/sessions.ts'
import type { Tables } from './statements/tables.ts'
import { trialClaim } from './try-claim.ts'

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

const findings = checkFindings('mysql', AT_START)
const { holds, weaker, weakerByDefault, unknown, broken } = findings

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
  const rows = await sessions.asked<SettingsRow>(READ_SETTINGS)
  const keys = await missingKeys(sessions, database)
  const engines = await foreignEngines(sessions, database)
  const missing = await missingThings(sessions, tables, keys)
  const claim = await judgeClaim(findings, trialClaim(sessions, await withIndexes(sessions, tables), strategy))
  const settings = rows.flatMap((row) => [
    ...(strategy === 'inbox' ? [judgeIsolation(server)] : []),
    judgeReadOnly(server),
    judgeFlush(row, strategy),
    judgeBinlog(row, strategy, server),
    judgeMode(server),
    judgeStatementTime(server),
    unknown(
      'replication',
      server.version,
      `Whether replicas are semi-synchronous is not asked. After a failover to an asynchronous one, ${LOST[strategy]}.`,
    ),
  ])
  return [
    ...settings,
    ...claim,
    ...missing.map((thing) => judgeMissing(findings, thing)),
    ...judgeKeys(findings, keys),
    ...engines.map(judgeEngine),
  ]
}

/** What is gone although all migrations ran. */
async function missingThings(
  sessions: MysqlSessions,
  tables: Tables,
  keys: readonly MissingKey[],
): Promise<readonly MissingThing[]> {
  const schema = schemaOf(tables)
  if (pendingOf(schema.migrations, await schema.read(sessions)).length > 0) return []
  const [others] = await sessions.asked<OtherRow>(readOthers(tables.database))
  const [hasTable, hasIndex] = [Number(others?.has_table) > 0, Number(others?.has_index) > 0]
  const gone = new Set(keys.flatMap(({ name, isThere }) => (isThere ? [] : [name])))
  return [
    ...(hasTable ? [] : [{ kind: 'table', name: OTHERS.table } as const]),
    ...[...gone].map((name) => ({ kind: 'table', name }) as const),
    ...(hasTable && !hasIndex ? [{ kind: 'index', name: OTHERS.index } as const] : []),
  ]
}

export function judgeStatementTime({ kind, statementMs }: Pick<Server, 'kind' | 'statementMs'>): CheckFinding {
  const found = `${kind === 'mariadb' ? 'max_statement_time' : 'max_execution_time'} ${statementMs} ms`
  if (!isShort(statementMs)) return holds('timeouts', found)
  return broken('timeouts', found, `${SHORT_STATEMENTS} Set it to seconds, or to 0, for the user of the pool.`)
}

function judgeEngine(explained: string): CheckFinding {
  const text = 'A rollback undoes nothing in this table: claims stay without an effect. The store does not open here.'
  return broken('engine', explained, `${text} Run: alter table ... engine = InnoDB.`)
}

function judgeIsolation(server: Server): CheckFinding {
  const found = `sessions ask for ${server.isolation}; transactions of handlers are READ-COMMITTED`
  if (!isSerializable(server)) return holds('isolation', found)
  return broken('isolation', found, 'The store does not open here. Set another level for its sessions.')
}

function judgeReadOnly({ isReadOnly }: Server): CheckFinding {
  if (!isReadOnly) return holds('primary', 'read_only off')
  const text = 'This is a replica, or is treated as one: nothing can be marked on it. Connect to the primary.'
  return broken('primary', 'read_only on', text)
}

/** 1 flushes at each COMMIT. 2 leaves the flush to the operating system for up to a second, 0 also the write. */
export function judgeFlush(
  { flush_log: flush }: Pick<SettingsRow, 'flush_log'>,
  strategy: 'inbox' | 'lease',
): CheckFinding {
  const found = `innodb_flush_log_at_trx_commit ${flush}`
  if (Number(flush) === 1) return holds('flush', found)
  const crash = Number(flush) === 2 ? 'When the machine crashes' : 'When the server or its machine crashes'
  const text = `${crash}, ${LOST[strategy]} of up to a second. Set innodb_flush_log_at_trx_commit = 1.`
  return strategy === 'inbox' ? broken('flush', found, text) : weaker('flush', found, text)
}

/** What `sync_binlog` is where nobody sets it. */
const DEFAULT_SYNC: Readonly<Record<Server['kind'], number>> = { mariadb: 0, mysql: 1 }

export function judgeBinlog(
  row: Omit<SettingsRow, 'flush_log'>,
  strategy: 'inbox' | 'lease',
  { kind }: Pick<Server, 'kind'>,
): CheckFinding {
  const { has_binlog: hasBinlog, sync_binlog: sync } = row
  if (Number(hasBinlog) === 0) return holds('binlog', 'log_bin off')
  const found = `log_bin on, sync_binlog ${sync}`
  if (Number(sync) === 1) return holds('binlog', found)
  const text = `When the machine crashes, the binary log may miss what is committed: after a failover to a replica, ${LOST[strategy]}.`
  const say = Number(sync) === DEFAULT_SYNC[kind] ? weakerByDefault : weaker
  return say('binlog', found, `${text} Set sync_binlog = 1.`)
}

function judgeMode(server: Server): CheckFinding {
  if (isStrict(server)) return holds('sql_mode', 'sql_mode is strict')
  const text = 'What handlers write is cut where it is too long, without an error, and the store does not open.'
  return broken('sql_mode', `sql_mode '${server.sqlMode}'`, `${text} Add STRICT_TRANS_TABLES.`)
}
