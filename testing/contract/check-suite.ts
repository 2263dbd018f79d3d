import { ConfigError } from '../../src/foundation/errors.ts'
import { checkFunction, checkNames, givenOf } from '../../src/foundation/option-checks.ts'

interface Declared {
  readonly strategy?: string
  readonly createHarness: unknown
  readonly lacks?: object
}

interface Suite {
  /** The function that got it. */
  readonly of: string
  readonly known: Readonly<Record<string, true>>
  /** What an implementation may lack. */
  readonly capabilities: readonly string[]
}

/**
 * Refuses what would make a suite test less than it says.
 * @throws ConfigError `CONFIG_INVALID` for unknown names, and for something that is lacked without a reason
 */
export function checkSuite(name: string, declared: Declared, { of, known, capabilities }: Suite): void {
  const given: Readonly<Record<string, unknown>> = { ...givenOf(declared) }
  const problems: string[] = []
  checkNames('', given, { of, known }, problems)
  const lacks = givenOf<Readonly<Record<string, unknown>>>(declared?.lacks as never)
  checkNames('lacks.', lacks, { of, known: Object.fromEntries(capabilities.map((one) => [one, true])) }, problems)
  for (const [lacking, reason] of Object.entries(lacks)) {
    if (typeof reason !== 'string' || reason.trim() === '') {
      problems.push(`lacks.${lacking}: expected the reason why, got ${JSON.stringify(reason)}`)
    }
  }
  checkFunction('createHarness', given['createHarness'], problems)
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `${name}: ${problem}`))
}
