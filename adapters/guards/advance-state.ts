import { givenOf } from '../../src/spi.ts'
import { Checks, likeGiven, shownValue } from './checks.ts'
import type { GuardClient } from './client.ts'
import { unsetColumn } from './problems.ts'
import type { Condition } from './statements.ts'
import { withClient } from './with-client.ts'

export interface AdvanceStateOptions<State extends string | number | bigint> {
  /** `table` or `schema.table`. Quoted, so it must be written as the database keeps it. */
  readonly table: string
  /** The primary key, or a unique one, as columns and values. */
  readonly key: Readonly<Record<string, unknown>>
  /** The column of the state. */
  readonly column: string
  /** The state to enter. */
  readonly to: State
  /** The states that lead to it; or `lower`: the states are numbers, and each lower one leads to it. */
  readonly from: readonly State[] | 'lower'
  /** More columns to write with the state. @defaultValue none */
  readonly set?: Readonly<Record<string, unknown>>
}

type Wide<State> = State extends string ? string : State extends number ? number : bigint

/**
 * `applied`: `state` is the new one. `already` and `out-of-order`: the one that was found, and stays. `unset`: the row has
 * no state (NULL), so no event ever leads on from it: throw `problem`, which names the row and says what to do.
 */
export type AdvanceStateVerdict<State extends string | number | bigint> =
  | { readonly verdict: 'applied' | 'already' | 'out-of-order'; readonly state: Wide<State> }
  | { readonly verdict: 'unset'; readonly problem: string }
  | { readonly verdict: 'missing' }

const KNOWN: Record<keyof AdvanceStateOptions<string>, true> = {
  table: true,
  key: true,
  column: true,
  to: true,
  from: true,
  set: true,
}

/**
 * Moves a row to a state, if its state now leads there. A repeated event answers `already`, a late one `out-of-order`,
 * and neither writes anything. Concurrent calls for one row take turns.
 *
 * Postgres: one statement. MariaDB and MySQL: one if it is `applied`, two if not.
 *
 * @throws ConfigError for options that cannot be meant, an unknown table or column, a state that the column cannot have
 */
export async function advanceState<State extends string | number | bigint>(
  tx: GuardClient,
  options: AdvanceStateOptions<State>,
): Promise<AdvanceStateVerdict<State>> {
  const checks = new Checks('advanceState', options, KNOWN)
  const { table, key, column, to, from, set = {} } = givenOf(options)
  const change = {
    table: checks.table(table),
    key: checks.key('key', key),
    column: checks.column('column', column),
    to,
    when: conditionOf(to, from, checks),
    set: checks.columns('set', set, 0),
  }
  checks.excluding('key', change.key, [column])
  checks.excluding('set', change.set, [column])
  checks.end()
  const changed = await withClient({ guard: 'advanceState', tx, table }, (statements) => statements.change(change))
  if (changed === undefined) return { verdict: 'missing' }
  if (changed.isChanged) return { verdict: 'applied', state: to as unknown as Wide<State> }
  if (changed.current === null) return { verdict: 'unset', problem: unsetColumn(change) }
  const state = likeGiven(to, changed.current) as Wide<State>
  return { verdict: changed.isThere ? 'already' : 'out-of-order', state }
}

function conditionOf(to: unknown, from: unknown, { problems }: Checks): Condition {
  if (!isState(to)) problems.push(`to: expected a text that is not empty or a finite number, got ${shownValue(to)}`)
  if (from === 'lower') {
    // Databases order texts by the alphabet.
    if (typeof to === 'string') problems.push(`to: expected a number, because from is 'lower', got ${shownValue(to)}`)
    return { is: 'lower' }
  }
  const values: readonly unknown[] = Array.isArray(from) ? from : []
  if (values.length === 0) problems.push(`from: expected a list of states, or 'lower', got ${shownValue(from)}`)
  if (!values.every((one) => isState(one) && (typeof one === 'string') === (typeof to === 'string'))) {
    problems.push('from: expected states of the type of to')
  }
  if (values.some((one) => String(one) === String(to))) problems.push('from: expected states other than to')
  return { is: 'one-of', values }
}

function isState(state: unknown): boolean {
  if (typeof state === 'number') return Number.isFinite(state)
  return typeof state === 'bigint' || (typeof state === 'string' && state !== '')
}
