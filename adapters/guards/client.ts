import { ConfigError } from '../../src/internal.ts'

/**
 * What a guard runs its statements on: `ctx.tx` of an inbox or of stored offsets, a `Client`, `PoolClient` or `Pool` of
 * `pg`, a PGlite or one of its transactions, or a connection or pool of `mysql2/promise`.
 */
export interface GuardClient {
  readonly query: (...given: never[]) => PromiseLike<unknown>
}

export type Row = Record<string, unknown>

/** Answer of the database to one statement. */
interface Answer {
  readonly rows: Row[]
  /** MariaDB and MySQL: rows that it changed or, if the connection asks for that, found. */
  readonly affected: number
  /** MariaDB and MySQL: the `LAST_INSERT_ID` that the statement has set. */
  readonly insertId: number
}

/** A client with one way to run a statement. */
export interface SqlClient {
  readonly dialect: 'postgres' | 'mysql'
  readonly isPool: boolean
  run(sql: string, values?: readonly unknown[]): Promise<Answer>
}

type Run = (this: unknown, ...given: unknown[]) => PromiseLike<unknown>

/** A client of `mysql2` has `execute`, and none of `pg` has it. @throws ConfigError for what is neither */
export function sqlClient(guard: string, given: GuardClient): SqlClient {
  const client = given as unknown as Readonly<Record<string, unknown>> | null | undefined
  const problem = problemOf(client)
  if (problem !== undefined) throw new ConfigError([`${guard}: ${problem}`])
  return typeof client?.['execute'] === 'function' ? ofMysql2(guard, client) : ofPg(guard, client ?? {})
}

function problemOf(client: Readonly<Record<string, unknown>> | null | undefined): string | undefined {
  if (typeof client?.['query'] !== 'function') {
    return 'expected ctx.tx, or a client of pg or mysql2/promise: an object with query(text, values)'
  }
  if (typeof client['promise'] === 'function') {
    return 'expected a client with promises, got one of mysql2 with callbacks. Pass client.promise()'
  }
  if (typeof client['createQueryBuilder'] === 'function' || typeof client['startTransaction'] === 'function') {
    return 'expected ctx.tx, or a client of pg or mysql2/promise, got an object of an ORM. Pass ctx.tx itself'
  }
  return undefined
}

function ofPg(guard: string, client: Readonly<Record<string, unknown>>): SqlClient {
  return {
    dialect: 'postgres',
    isPool: 'totalCount' in client,
    async run(sql, values = []) {
      const answer = await (client['query'] as Run)(sql, [...values])
      const rows = (answer as { readonly rows?: unknown } | null | undefined)?.rows
      if (!Array.isArray(rows)) throw new ConfigError([`${guard}: ${unlike('{ rows }', 'pg')}`])
      return { rows: rows as Row[], affected: 0, insertId: 0 }
    },
  }
}

/**
 * Values go as parameters of a prepared statement: in the text protocol mysql2 makes SQL of objects, and its escapes do
 * not fit `NO_BACKSLASH_ESCAPES`. Savepoints and settings have no values, and cannot be prepared on all versions.
 */
function ofMysql2(guard: string, client: Readonly<Record<string, unknown>>): SqlClient {
  return {
    dialect: 'mysql',
    isPool: typeof client['getConnection'] === 'function',
    async run(sql, values) {
      const query = { sql, rowsAsArray: false, nestTables: false }
      const answer =
        values === undefined
          ? await (client['query'] as Run)(query)
          : await (client['execute'] as Run)(query, values.map(parameterOf))
      if (!Array.isArray(answer)) throw new ConfigError([`${guard}: ${unlike('[result, fields]', 'mysql2')}`])
      const [result] = answer as unknown[]
      if (Array.isArray(result)) return { rows: result as Row[], affected: 0, insertId: 0 }
      const { affectedRows, insertId } = result as { readonly affectedRows?: number; readonly insertId?: unknown }
      return { rows: [], affected: affectedRows ?? 0, insertId: Number(insertId ?? 0) }
    },
  }
}

/**
 * A number as text: mysql2 sends a double, and a column of text that is compared with one matches all texts that begin
 * with this number.
 */
function parameterOf(value: unknown): unknown {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  return value instanceof Uint8Array && !Buffer.isBuffer(value) ? Buffer.from(value) : value
}

function unlike(expected: string, of: string): string {
  return `expected query to answer ${expected} as ${of} does. Pass ctx.tx, or a client of pg or mysql2/promise`
}
