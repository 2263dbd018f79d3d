import { needed, object, optionsOf, where, type Rule, type Table } from '../../src/internal.ts'
import { COLUMN, isValue, KEY, likeGiven, problemsOfTaken, shownValue, SOME_COLUMNS, TABLE } from './checks.ts'
import type { GuardClient } from './client.ts'
import { unsetColumn } from './problems.ts'
import type { Condition } from './statements.ts'
import { tableOf } from './identifiers.ts'
import { withClient } from './with-client.ts'

export type Version = number | bigint | string | Date

export interface UpdateVersionedOptions<V extends Version> {
  /** `table` or `schema.table`. Quoted, so it must be written as the database keeps it. */
  readonly table: string
  /** The primary key, or a unique one, as columns and values. */
  readonly key: Readonly<Record<string, unknown>>
  readonly version: {
    /** The column of the version, a whole number or a timestamp. */
    readonly column: string
    /**
     * The version that you have read. A `Date` stands for its whole millisecond, because it has no more digits; a
     * timestamp as text is compared in full.
     */
    readonly expected: V
    /** The version to write, later than `expected`. @defaultValue `expected + 1`; required for a timestamp */
    readonly next?: V
  }
  /** The columns to write. */
  readonly set: Readonly<Record<string, unknown>>
}

/**
 * `applied`: `version` is the new one. `stale`: somebody was there before, and this is the version now. `unset`: the row
 * has no version (NULL), so no update ever finds the one that it expects: throw `problem`, which names the row and says
 * what to do.
 */
export type UpdateVersionedVerdict<V extends Version> =
  | { readonly verdict: 'applied' | 'stale'; readonly version: Wide<V> }
  | { readonly verdict: 'unset'; readonly problem: string }
  | { readonly verdict: 'missing' }

type Wide<V> = V extends number ? number : V extends bigint ? bigint : V extends Date ? Date : string

type VersionOf = UpdateVersionedOptions<Version>['version']

const VERSION: Rule<Version> = where('a whole number, a Date, or the text of a timestamp', isVersion, {
  got: shownValue,
})

const OF_VERSION: Table<VersionOf, 'next'> = { column: needed(COLUMN), expected: needed(VERSION), next: VERSION }

const UPDATE_VERSIONED: Table<UpdateVersionedOptions<Version>> = {
  table: needed(TABLE),
  key: needed(KEY),
  version: needed(object(OF_VERSION)),
  set: needed(SOME_COLUMNS),
}

/**
 * Updates a row if its version is still the one that you have read, and writes the next version. Of two concurrent
 * calls with one version one is `applied`, the other `stale`.
 *
 * Postgres: one statement. MariaDB and MySQL: one if it is `applied`, two if not.
 *
 * @throws ConfigError for options that cannot be meant, an unknown table or column, a version that the column cannot
 * have
 */
export async function updateVersioned<V extends Version>(
  tx: GuardClient,
  options: UpdateVersionedOptions<V>,
): Promise<UpdateVersionedVerdict<V>> {
  const all = optionsOf('updateVersioned', UPDATE_VERSIONED, options as UpdateVersionedOptions<never>, problemsOf)
  const { table, key, version, set } = all
  const { column, expected } = version
  const to = nextOf(version)
  const change = {
    table: tableOf(table) ?? [],
    key: Object.entries(key),
    column,
    to,
    when: conditionOf(expected),
    set: Object.entries(set),
  }
  const changed = await withClient({ guard: 'updateVersioned', tx, table }, (statements) => statements.change(change))
  if (changed === undefined) return { verdict: 'missing' }
  if (changed.isChanged) return { verdict: 'applied', version: to as Wide<V> }
  if (changed.current === null) return { verdict: 'unset', problem: unsetColumn(change) }
  return { verdict: 'stale', version: likeGiven(expected, changed.current) as Wide<V> }
}

function conditionOf(expected: unknown): Condition {
  if (expected instanceof Date) return { is: 'millisecond', value: expected }
  return { is: 'equal', value: expected }
}

function nextOf({ expected, next }: VersionOf): unknown {
  if (next === undefined && typeof expected === 'number') return expected + 1
  return next === undefined && typeof expected === 'bigint' ? expected + 1n : next
}

function problemsOf({ key, version, set }: UpdateVersionedOptions<Version>, problems: string[]): void {
  const { column, expected } = version
  problemsOfTaken('key', key, column, problems)
  problemsOfTaken('set', set, column, problems)
  const next = nextOf(version)
  if (typeof next === typeof expected && (next as Version) > expected) return
  problems.push(`version.next: expected a version later than version.expected, got ${shownValue(next)}`)
}

function isVersion(version: unknown): version is Version {
  if (typeof version === 'number') return Number.isSafeInteger(version) && Number.isSafeInteger(version + 1)
  if (typeof version === 'string') return version !== ''
  return typeof version === 'bigint' || (version instanceof Date && isValue(version))
}
