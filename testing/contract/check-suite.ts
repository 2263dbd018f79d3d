import { func, matching, needed, object, oneOf, optionsOf, or, type Table } from '../../src/foundation/options.ts'

interface Declared {
  readonly createHarness: unknown
  readonly lacks?: object
}

interface Suite {
  /** What an implementation may lack. */
  readonly capabilities: readonly string[]
  /** Of a store. @defaultValue none */
  readonly strategies?: readonly string[]
}

/**
 * Refuses what would make a suite test less than it says.
 * @throws ConfigError `CONFIG_INVALID` for unknown names, and for something that is lacked without a reason
 */
export function checkSuite(name: string, declared: Declared, { capabilities, strategies }: Suite): void {
  const reason = matching('the reason why', /\S/)
  const lacks = object(Object.fromEntries(capabilities.map((one) => [one, reason])) as unknown as Table<object>)
  const table: Table<Declared> = { createHarness: needed(func()), lacks: or({}, lacks) }
  const own = strategies === undefined ? {} : { strategy: needed(oneOf(...strategies)) }
  optionsOf(name, { ...table, ...own }, declared)
}
