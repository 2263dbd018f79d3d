import type { ResolvedConsumer } from './resolve-options.ts'

type Scoped = Pick<ResolvedConsumer, 'name' | 'scope'>

/** What stands before the message ID in every key. */
export function keyScope({ name, scope }: Scoped, group: string, origin: string): readonly Uint8Array[] {
  return (scope === undefined ? [group, origin, name] : [scope]).map((part) => Buffer.from(part))
}

/**
 * The text of a scope, for people and for the tables of stores: `group/name`, or the option `scope`. No two scopes have the
 * same text: the `/` between group and name is the only one there is.
 */
export function scopeName({ name, scope }: Scoped, group: string): string {
  return scopeText(scope === undefined ? [group, name] : [scope])
}

/** Injective: in a part `%` becomes `%25` and `/` becomes `%2F`; all else stays as it is. */
export function scopeText(parts: readonly string[]): string {
  return parts.map((part) => part.replaceAll('%', '%25').replaceAll('/', '%2F')).join('/')
}

/** A row of the table of scopes that a store on a database keeps. */
export interface ScopeRow {
  readonly id: number
  readonly name: string
  /**
   * `null`: registered by an earlier version, whose texts were not injective. `true`: likewise, and used by a scope whose text has
   * changed since; another scope may use it too. `false`: the row of one scope.
   */
  readonly isShared: boolean | null
}

/** What a store does to find the row of a scope. */
export type ScopeStep =
  | { readonly step: 'register' }
  | { readonly step: 'use'; readonly id: number }
  /** First the row is marked as shared, durably: nothing is purged by the retention of one of two scopes. */
  | { readonly step: 'share'; readonly id: number; readonly name: string }
  /** An earlier version wrote the row, under this text, for another scope. */
  | { readonly step: 'refuse'; readonly problem: string }

/**
 * Which row holds what a scope has done. Earlier versions joined group and name without escaping, so that one row could be that
 * of two consumers. Nothing tells which of them it was, and what is done must not be forgotten: a scope whose text has changed
 * goes on in the row of its former text, for as long as an earlier version may run beside it.
 *
 * @param rows - those named `scope` or `formerScope(scope)`
 */
export function findScopeRow(scope: string, rows: readonly ScopeRow[]): ScopeStep {
  const former = formerScope(scope)
  const own = rows.find(({ name }) => name === scope)
  if (own !== undefined && (scope === former || own.isShared === false)) return { step: 'use', id: own.id }
  if (own !== undefined) return { step: 'refuse', problem: takenBy(own) }
  const older = rows.find(({ name }) => name === former)
  return older === undefined || older.isShared === false
    ? { step: 'register' }
    : { step: 'share', id: older.id, name: older.name }
}

/** The text of the scope as earlier versions wrote it. */
export function formerScope(scope: string): string {
  return scope.replaceAll('%2F', '/').replaceAll('%25', '%')
}

function takenBy({ id, name }: ScopeRow): string {
  return (
    `scope ${JSON.stringify(name)}: expected a row of its own, got row ${id}, which an earlier version wrote for the scope that ` +
    `is ${JSON.stringify(scopeText([name]))} now: give that row this name, with shared = false (docs/stores.md, Scopes)`
  )
}

/** Why a store of strategy `offsets` does not share a row: the positions in it would be those of two consumers. */
export function mayBeAnothers(scope: string, { id, name }: Pick<ScopeRow, 'id' | 'name'>): string {
  return (
    `scope ${JSON.stringify(scope)}: its positions may be in row ${id}, which an earlier version wrote as ${JSON.stringify(name)}, ` +
    `a text that another consumer can have: decide whose row it is (docs/stores.md, Scopes)`
  )
}

/** Why nothing is purged from a row. */
export function isSharedBy({ id, name }: Pick<ScopeRow, 'id' | 'name'>): string {
  return (
    `scope row ${id}, ${JSON.stringify(name)}: an earlier version wrote it, under a text that several consumers can have, so ` +
    `nothing is removed from it: decide whose row it is (docs/stores.md, Scopes)`
  )
}
