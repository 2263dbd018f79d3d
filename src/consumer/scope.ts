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
