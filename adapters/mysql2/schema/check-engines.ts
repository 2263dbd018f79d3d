import { ConfigError } from '../../../src/internal.ts'
import type { MysqlSessions } from '../sessions/sessions.ts'
import { readForeignEngines, type EngineRow } from './read-tables.ts'

/** Describes each table of the library that a ROLLBACK does not undo. */
export async function foreignEngines(sessions: MysqlSessions, database: string): Promise<readonly string[]> {
  const rows = await sessions.asked<EngineRow>(readForeignEngines(database))
  return rows.map(({ table, engine }) => `${table}: expected engine InnoDB, got ${engine ?? 'none'}`)
}

/** @throws ConfigError `CONFIG_INVALID` if a claim would remain after its transaction was rolled back */
export async function checkEngines(sessions: MysqlSessions, database: string): Promise<void> {
  const foreign = await foreignEngines(sessions, database)
  if (foreign.length === 0) return
  throw new ConfigError(foreign.map((problem) => `table ${database}.${problem}. Run: alter table ... engine = InnoDB`))
}
