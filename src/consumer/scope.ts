import type { ResolvedConsumer } from './resolve-options.ts'

type Scoped = Pick<ResolvedConsumer, 'name' | 'scope'>

/** The part of every key before the message ID. */
export function keyScope({ name, scope }: Scoped, group: string, origin: string): readonly Uint8Array[] {
  return (scope === undefined ? [group, origin, name] : [scope]).map((part) => Buffer.from(part))
}

/**
 * The text of a scope, for people and for the tables of stores: `group/name`, or the option `scope`. Two scopes never
 * have the same text: the `/` between group and name is the only one.
 */
export function scopeName({ name, scope }: Scoped, group: string): string {
  return scopeText(scope === undefined ? [group, name] : [scope])
}

/** The scope under which the reports of mode `observe` are kept. No consumer has it: neither group nor name is empty. */
export function observedScope(scope: string): string {
  return scopeText(['observed', '', scope])
}

/** Injective: in each part `%` becomes `%25` and `/` becomes `%2F`. */
export function scopeText(parts: readonly string[]): string {
  return parts.map((part) => part.replaceAll('%', '%25').replaceAll('/', '%2F')).join('/')
}

/** A row of the scope table that a database store keeps. */
export interface ScopeRow {
  readonly id: number
  readonly name: string
  /**
   * `null`: registered by an earlier version, whose texts were not injective. `true`: likewise, and in use by a scope
   * whose text has changed since; another scope may use it too. `false`: the row of exactly one scope.
   */
  readonly isShared: boolean | null
}

/** The next step to find the row of a scope. */
export type ScopeStep =
  | { readonly step: 'register' }
  | { readonly step: 'use'; readonly id: number }
  /** First mark the row as shared, durably: then nothing is purged by the retention of only one of two scopes. */
  | { readonly step: 'share'; readonly id: number; readonly name: string }
  /** An earlier version wrote a row with this text for another scope. */
  | { readonly step: 'refuse'; readonly problem: string }

/**
 * Finds the row of a scope. Earlier versions joined group and name without escaping, so two consumers could share one
 * row. Nothing shows which of them used it, and `done` records must not be forgotten. A scope whose text has changed
 * therefore keeps using the row of its former text, as long as an earlier version may run beside it.
 *
 * @param rows - rows named `scope` or `formerScope(scope)`
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

/** Why a store of strategy `offsets` does not share a row: it would mix the positions of two consumers. */
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
