import type { Row, SqlClient } from './client.ts'
import { quoted, type Table } from './identifiers.ts'
import { manyRows, unreadableRow } from './problems.ts'
import {
  MOST_TRIES,
  type Change,
  type Changed,
  type Columns,
  type Condition,
  type Insertion,
  type Locked,
  type Locking,
  type Statements,
} from './statements.ts'

const LOCK_NOT_AVAILABLE = '55P03'
/** A column beside those of the user's row. */
const MARK = 'consume_once_mark'

/** The parameters of one statement. */
class Parameters {
  readonly values: unknown[] = []

  add(value: unknown): string {
    return `$${this.values.push(value)}`
  }

  /** `and` between the columns. */
  match(columns: Columns): string {
    return columns.map(([column, value]) => `t.${quoted(column)} = ${this.add(value)}`).join(' and ')
  }
}

/** One statement for each guard. Nothing here lets a statement fail, except a wait for a lock, above a savepoint. */
export class PostgresStatements implements Statements {
  readonly #client: SqlClient
  readonly #guard: string

  constructor(client: SqlClient, guard: string) {
    this.#client = client
    this.#guard = guard
  }

  /**
   * The insert may wait for a rival. If that commits, this statement does not see its row, because its snapshot is
   * older, so the next one looks again.
   */
  async insert(insertion: Insertion): Promise<Row | undefined> {
    const { table, conflict } = insertion
    const text = insertText(insertion)
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const answer = await this.#one(text)
      if (answer?.[MARK] === 1) return undefined
      const found = isFound(answer, conflict) ? answer : await this.#one(selectText(table, conflict))
      if (found !== undefined) return without(MARK, found)
    }
    throw unreadableRow(this.#guard, table)
  }

  async change(change: Change): Promise<Changed | undefined> {
    const { text, values } = changeText(change)
    const { rows } = await this.#client.run(text, values)
    const [row] = rows
    if (row === undefined) return undefined
    if (rows.length > 1) throw manyRows(this.#guard, rows.length)
    return { isChanged: row['moved'] === 1, current: row['value'], isThere: row['is_there'] === true }
  }

  async lock(locking: Locking): Promise<Locked> {
    const free = lockText(locking, 'skip locked')
    const { rows } = await this.#client.run(free.text, free.values)
    const [row] = rows
    if (row === undefined) return 'missing'
    if (rows.length > 1) throw manyRows(this.#guard, rows.length)
    if (row[MARK] === true) return { row: without(MARK, row) }
    return locking.waitMs === 0 ? 'busy' : this.#wait(locking)
  }

  /** A lock timeout fails the statement, and without a savepoint its transaction. */
  async #wait(locking: Locking): Promise<Locked> {
    const client = this.#client
    await client.run('savepoint consume_once_lock')
    const limited = `select current_setting('lock_timeout') as before, set_config('lock_timeout', $1, true)`
    const before = (await client.run(limited, [`${locking.waitMs}ms`])).rows[0]?.['before']
    let row: Row | undefined
    try {
      const { text, values } = lockText(locking, '')
      row = (await client.run(text, values)).rows[0]
    } catch (error) {
      if ((error as { readonly code?: unknown } | null)?.code !== LOCK_NOT_AVAILABLE) throw error
      await client.run('rollback to savepoint consume_once_lock')
      await client.run('release savepoint consume_once_lock')
      return 'busy'
    }
    await client.run(`select set_config('lock_timeout', $1, true)`, [before])
    await client.run('release savepoint consume_once_lock')
    // Not locked after the wait: the rival has deleted it.
    return row?.[MARK] === true ? { row: without(MARK, row) } : 'missing'
  }

  async #one({ text, values }: Statement): Promise<Row | undefined> {
    return (await this.#client.run(text, values)).rows[0]
  }
}

interface Statement {
  readonly text: string
  readonly values: readonly unknown[]
}

/** One row: with MARK 1 if it was inserted, else with 0 and the row that the snapshot has, if it has one. */
function insertText({ table, row, conflict, peek }: Insertion): Statement {
  const parameters = new Parameters()
  const columns = row.map(([column]) => quoted(column)).join(', ')
  const values = row.map(([, value]) => parameters.add(value)).join(', ')
  const unique = conflict.map(([column]) => quoted(column)).join(', ')
  const there = `select t.* from ${name(table)} t where ${parameters.match(conflict)}`
  const source = peek ? `select ${values} where not exists (${there})` : `values (${values})`
  const text = `with inserted as (
      insert into ${name(table)} (${columns}) ${source} on conflict (${unique}) do nothing returning 1)
    select n.n as ${MARK}, t.* from (select count(*)::int as n from inserted) n left join (${there}) t on n.n = 0`
  return { text, values: parameters.values }
}

function selectText(table: Table, key: Columns): Statement {
  const parameters = new Parameters()
  const text = `select t.* from ${name(table)} t where ${parameters.match(key)}`
  return { text, values: parameters.values }
}

/**
 * The lock comes first: it waits for a rival, and reads what that has committed. Without it, a change that a rival made
 * at the same time would look out of order.
 */
function changeText({ table, key, column, to, when, set }: Change): Statement {
  const parameters = new Parameters()
  const value = `t.${quoted(column)}`
  const target = parameters.add(to)
  const matched = parameters.match(key)
  const writes = set.map(([other, given]) => `, ${quoted(other)} = ${parameters.add(given)}`).join('')
  const text = `with current as (
      select ${value} as value, ${value} = ${target} as is_there, ${conditionText(value, target, when, parameters)} as allowed
      from ${name(table)} t where ${matched} for no key update),
    moved as (
      update ${name(table)} t set ${quoted(column)} = ${target}${writes} from current
      where ${matched} and current.allowed and (select count(*) from current) = 1 returning 1)
    select value, is_there, (select count(*)::int from moved) as moved from current`
  return { text, values: parameters.values }
}

function conditionText(value: string, target: string, when: Condition, parameters: Parameters): string {
  switch (when.is) {
    case 'one-of':
      return `${value} = any(${parameters.add(when.values)})`
    case 'lower':
      return `${value} < ${target}`
    case 'equal':
      return `${value} = ${parameters.add(when.value)}`
    case 'millisecond':
      return `date_trunc('milliseconds', ${value}) = ${parameters.add(when.value)}`
  }
}

/** MARK: whether it is locked. A row that others hold is there all the same. */
function lockText({ table, key }: Locking, wait: 'skip locked' | ''): Statement {
  const parameters = new Parameters()
  const matched = parameters.match(key)
  const text = `with locked as (select t.* from ${name(table)} t where ${matched} for update ${wait})
    select true as ${MARK}, locked.* from locked union all
    select false, t.* from ${name(table)} t where ${matched} and not exists (select from locked)`
  return { text, values: parameters.values }
}

function name(table: Table): string {
  return table.map(quoted).join('.')
}

/** An outer join that found nothing has null in the key, which no key has. */
function isFound(row: Row | undefined, key: Columns): row is Row {
  return row !== undefined && key.every(([column]) => row[column] !== null && row[column] !== undefined)
}

function without(column: string, row: Row): Row {
  return Object.fromEntries(Object.entries(row).filter(([other]) => other !== column))
}
