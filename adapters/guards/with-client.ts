import { sqlClient, type GuardClient, type SqlClient } from './client.ts'
import { MysqlStatements } from './mysql.ts'
import { PostgresStatements } from './postgres.ts'
import { explained } from './problems.ts'
import type { Statements } from './statements.ts'

/** Runs the statements of a guard on the database of its client. */
export async function withClient<T>(
  { guard, tx, table }: { readonly guard: string; readonly tx: GuardClient; readonly table: string },
  run: (statements: Statements, client: SqlClient) => Promise<T>,
): Promise<T> {
  const client = sqlClient(guard, tx)
  const of = client.dialect === 'postgres' ? PostgresStatements : MysqlStatements
  try {
    return await run(new of(client, guard), client)
  } catch (error) {
    throw explained(guard, table, error)
  }
}
