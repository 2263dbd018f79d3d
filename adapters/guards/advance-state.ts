import {
  either,
  listOf,
  needed,
  oneOf,
  optionsOf,
  or,
  where,
  type Complete,
  type Rule,
  type Table,
} from '../../src/internal.ts'
import { COLUMN, COLUMNS, KEY, likeGiven, problemsOfTaken, shownValue, TABLE } from './checks.ts'
import type { GuardClient } from './client.ts'
import { unsetColumn } from './problems.ts'
import type { Condition } from './statements.ts'
import { tableOf } from './identifiers.ts'
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

type AnyState = string | number | bigint

const STATE: Rule<AnyState> = where('a text that is not empty or a finite number', isState, { got: shownValue })

const ADVANCE_STATE: Table<AdvanceStateOptions<AnyState>> = {
  table: needed(TABLE),
  key: needed(KEY),
  column: needed(COLUMN),
  to: needed(STATE),
  from: needed(either(oneOf('lower'), listOf(STATE, { least: 1, what: 'states' }))),
  set: or({}, COLUMNS),
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
  const all = optionsOf('advanceState', ADVANCE_STATE, options as AdvanceStateOptions<never>, problemsOf)
  const { table, key, column, to, from, set } = all
  const change = {
    table: tableOf(table) ?? [],
    key: Object.entries(key),
    column,
    to,
    when: (from === 'lower' ? { is: 'lower' } : { is: 'one-of', values: from }) satisfies Condition,
    set: Object.entries(set),
  }
  const changed = await withClient({ guard: 'advanceState', tx, table }, (statements) => statements.change(change))
  if (changed === undefined) return { verdict: 'missing' }
  if (changed.isChanged) return { verdict: 'applied', state: to as unknown as Wide<State> }
  if (changed.current === null) return { verdict: 'unset', problem: unsetColumn(change) }
  const state = likeGiven(to, changed.current) as Wide<State>
  return { verdict: changed.isThere ? 'already' : 'out-of-order', state }
}

function problemsOf({ key, column, to, from, set }: Complete<AdvanceStateOptions<AnyState>>, problems: string[]): void {
  problemsOfTaken('key', key, column, problems)
  problemsOfTaken('set', set, column, problems)
  if (from === 'lower') {
    // Databases order texts by the alphabet.
    if (typeof to === 'string') problems.push(`to: expected a number, because from is "lower", got ${shownValue(to)}`)
    return
  }
  if (!from.every((one) => (typeof one === 'string') === (typeof to === 'string'))) {
    problems.push('from: expected states of the type of to')
  }
  if (from.some((one) => String(one) === String(to))) problems.push('from: expected states other than to')
}

function isState(state: unknown): boolean {
  if (typeof state === 'number') return Number.isFinite(state)
  return typeof state === 'bigint' || (typeof state === 'string' && state !== '')
}
