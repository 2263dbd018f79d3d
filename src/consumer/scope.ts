import type { ResolvedConsumer } from './resolve-options.ts'

type Scoped = Pick<ResolvedConsumer, 'name' | 'scope'>

/** The part of every key before the message ID. */
export function keyScope(consumer: Scoped, group: string, origin: string): readonly Uint8Array[] {
  const { scope } = consumer
  if (typeof scope === 'string') return bytesOf([scope])
  const [ofGroup, ofName] = namesOf(consumer, group)
  return bytesOf([ofGroup, originOf(consumer, group, origin), ofName])
}

/** The same without the origin: a position has one of its own. */
export function positionScope(consumer: Scoped, group: string): readonly Uint8Array[] {
  const { scope } = consumer
  return bytesOf(typeof scope === 'string' ? [scope] : namesOf(consumer, group))
}

/**
 * The text of a scope, for people and for the tables of stores: `group/name`, or the option `scope`. Two scopes never
 * have the same text: the `/` between group and name is the only one.
 */
export function scopeName(consumer: Scoped, group: string): string {
  const { scope } = consumer
  return scopeText(typeof scope === 'string' ? [scope] : namesOf(consumer, group))
}

/** Group and name as they stand in the keys. */
function namesOf({ name, scope }: Scoped, group: string): readonly [group: string, name: string] {
  if (typeof scope !== 'object') return [group, name]
  return [scope.queue ?? scope.group ?? group, scope.name ?? name]
}

/** The origin as it stands in the keys. A copy may have the former one already. */
function originOf({ scope }: Scoped, group: string, origin: string): string {
  if (typeof scope !== 'object') return origin
  const { queue, topics = {} } = scope
  if (queue !== undefined) return origin === group ? queue : origin
  return Object.hasOwn(topics, origin) ? (topics[origin] ?? origin) : origin
}

function bytesOf(parts: readonly string[]): readonly Uint8Array[] {
  return parts.map((part) => Buffer.from(part))
}

/** The scope under which the reports of mode `observe` are kept. No consumer has it: neither group nor name is empty. */
export function observedScope(scope: string): string {
  return scopeText(['observed', '', scope])
}

/** Injective: in each part `%` becomes `%25` and `/` becomes `%2F`. */
export function scopeText(parts: readonly string[]): string {
  return parts.map((part) => part.replaceAll('%', '%25').replaceAll('/', '%2F')).join('/')
}
