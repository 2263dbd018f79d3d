import type { Row, SqlClient } from './client.ts'
import { backticked, type Table } from './identifiers.ts'
import { manyRows, unreadableRow, unsteadyRow } from './problems.ts'
import {
  MOST_TRIES,
  valuesOf,
  type Change,
  type Changed,
  type Columns,
  type Condition,
  type Insertion,
  type Locked,
  type Locking,
  type Statements,
} from './statements.ts'

const LOCK_WAIT_TIMEOUT = 1205
/** `LAST_INSERT_ID` of an insert that met a row. No counter gets there. */
const MET_A_ROW = Number.MAX_SAFE_INTEGER

/**
 * One statement if it changes something. If it does not, a second one reads why: MariaDB and MySQL have no `returning`
 * of an update, nor an insert that tells what it met.
 */
export class MysqlStatements implements Statements {
  readonly #client: SqlClient
  readonly #guard: string

  constructor(client: SqlClient, guard: string) {
    this.#client = client
    this.#guard = guard
  }

  async insert(insertion: Insertion): Promise<Row | undefined> {
    const { table, row, conflict, peek } = insertion
    if (peek) {
      const found = await this.#select(table, conflict, '')
      if (found !== undefined) return found
    }
    const text = insertText(insertion)
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const { insertId } = await this.#client.run(text, valuesOf(row))
      if (insertId !== MET_A_ROW) return undefined
      // A read that locks sees what is committed; a plain one sees the snapshot of its transaction.
      const found = await this.#select(table, conflict, 'for update')
      if (found !== undefined) return found
    }
    throw unreadableRow(this.#guard, table)
  }

  async change(change: Change): Promise<Changed | undefined> {
    const [update, read] = [updateText(change), readText(change)]
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const { affected } = await this.#client.run(update.sql, update.values)
      if (affected > 1) throw manyRows(this.#guard, affected)
      if (affected === 1) return { isChanged: true, current: undefined, isThere: false }
      const { rows } = await this.#client.run(read.sql, read.values)
      const [row] = rows
      if (row === undefined) return undefined
      if (rows.length > 1) throw manyRows(this.#guard, rows.length)
      // Otherwise a rival has just committed a value that allows the change.
      if (Number(row['allowed'] ?? 0) === 0) {
        return { isChanged: false, current: row['value'], isThere: Number(row['is_there'] ?? 0) === 1 }
      }
    }
    throw unsteadyRow(this.#guard, change.table)
  }

  async lock({ table, key, waitMs }: Locking): Promise<Locked> {
    const row = await this.#select(table, key, 'for update skip locked')
    if (row !== undefined) return { row }
    if ((await this.#select(table, key, '')) === undefined) return 'missing'
    return waitMs === 0 ? 'busy' : this.#wait(table, key, waitMs)
  }

  /** A lock timeout undoes its statement only, but `ctx.tx` goes on after a failed statement only from a savepoint. */
  async #wait(table: Table, key: Columns, waitMs: number): Promise<Locked> {
    const client = this.#client
    const seconds = Math.ceil(waitMs / 1_000)
    const restore = 'set session innodb_lock_wait_timeout = @consume_once_guard'
    await client.run('savepoint consume_once_lock')
    await client.run(
      `set @consume_once_guard = @@session.innodb_lock_wait_timeout, session innodb_lock_wait_timeout = ${seconds}`,
    )
    let row: Row | undefined
    try {
      row = await this.#select(table, key, 'for update')
    } catch (error) {
      if ((error as { readonly errno?: unknown } | null)?.errno !== LOCK_WAIT_TIMEOUT) {
        // A setting of the session outlives the transaction. `ctx.tx` may refuse the statement, and restores its own.
        await client.run(restore).catch(() => {})
        throw error
      }
      await client.run('rollback to savepoint consume_once_lock')
      await client.run(restore)
      return 'busy'
    }
    await client.run(restore)
    return row === undefined ? 'missing' : { row }
  }

  async #select(
    table: Table,
    key: Columns,
    how: '' | 'for update' | 'for update skip locked',
  ): Promise<Row | undefined> {
    const { rows } = await this.#client.run(`select * from ${name(table)} where ${match(key)} ${how}`, valuesOf(key))
    if (rows.length > 1) throw manyRows(this.#guard, rows.length)
    return rows[0]
  }
}

interface Statement {
  readonly sql: string
  readonly values: readonly unknown[]
}

/**
 * `insert ignore` would also hide cut texts and bad values. The count of affected rows does not tell an insert from a
 * row that was met: with `CLIENT_FOUND_ROWS`, which mysql2 sets, both are 1.
 */
function insertText({ table, row, conflict }: Insertion): string {
  const columns = row.map(([column]) => backticked(column)).join(', ')
  const values = row.map(() => '?').join(', ')
  const same = backticked(conflict[0]?.[0] ?? '')
  return `insert into ${name(table)} (${columns}) values (${values})
    on duplicate key update ${same} = if(last_insert_id(${MET_A_ROW}) = 0, ${same}, ${same})`
}

function updateText({ table, key, column, to, when, set }: Change): Statement {
  const condition = conditionOf(backticked(column), to, when)
  const writes = set.map(([other]) => `, ${backticked(other)} = ?`).join('')
  return {
    sql: `update ${name(table)} set ${backticked(column)} = ?${writes} where ${match(key)} and ${condition.sql}`,
    values: [to, ...valuesOf(set), ...valuesOf(key), ...condition.values],
  }
}

function readText({ table, key, column, to, when }: Change): Statement {
  const value = backticked(column)
  const condition = conditionOf(value, to, when)
  return {
    sql: `select ${value} as value, ${value} = ? as is_there, ${condition.sql} as allowed
      from ${name(table)} where ${match(key)} for update`,
    values: [to, ...condition.values, ...valuesOf(key)],
  }
}

function conditionOf(value: string, to: unknown, when: Condition): Statement {
  switch (when.is) {
    case 'one-of':
      return { sql: `${value} in (${when.values.map(() => '?').join(', ')})`, values: when.values }
    case 'lower':
      return { sql: `${value} < ?`, values: [to] }
    case 'equal':
      return { sql: `${value} = ?`, values: [when.value] }
    case 'millisecond':
      return { sql: `(${value} >= ? and ${value} < ?)`, values: [when.value, new Date(when.value.getTime() + 1)] }
  }
}

function match(columns: Columns): string {
  return columns.map(([column]) => `${backticked(column)} = ?`).join(' and ')
}

function name(table: Table): string {
  return table.map(backticked).join('.')
}
