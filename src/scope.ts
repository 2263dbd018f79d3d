import type { ResolvedConsumer } from './resolve-options.ts'

type Scoped = Pick<ResolvedConsumer, 'name' | 'scope'>

/** What stands before the message ID in every key. */
export function keyScope({ name, scope }: Scoped, group: string, origin: string): readonly Uint8Array[] {
  return (scope === undefined ? [group, origin, name] : [scope]).map((part) => Buffer.from(part))
}

/** What stores are told: for people, and for the registry of tables. */
export function scopeName({ name, scope }: Scoped, group: string): string {
  return scope ?? `${group}/${name}`
}
