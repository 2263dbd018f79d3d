import { ConfigError, describeError, type CheckFinding, type CheckFindings } from '../../src/internal.ts'
import { explainKey, type MissingKey } from './schema/keys.ts'

type Findings = CheckFindings<'claim' | 'keys' | 'schema'>

/** A claim of a key that nobody has, which is rolled back. Only this shows that a server takes the writes of a claim. */
export interface TrialClaim {
  run(): Promise<void>
  /** The code of an error of the server. */
  codeOf(error: unknown): string | number | undefined
  /** The tables do not exist, as before the first `open`. */
  isBeforeTables(error: unknown): boolean
  /** What people have to do; `undefined` if it may pass by itself. */
  advice(error: unknown): string | undefined
}

function whyRefused(trial: TrialClaim, error: unknown): string | undefined {
  const advice = trial.advice(error)
  return advice === undefined ? undefined : `${describeError(error).replace(/\.+$/, '')}. ${advice}`
}

/** @throws ConfigError `CONFIG_INVALID` if the server takes no claims, as it is or with these rights */
export async function checkClaim(trial: TrialClaim): Promise<void> {
  try {
    await trial.run()
  } catch (error) {
    const why = whyRefused(trial, error)
    if (why === undefined) throw error
    throw new ConfigError([`a claim, which was tried and rolled back: ${why}`], 'CONFIG_INVALID', { cause: error })
  }
}

/** Empty before the first `open`. */
export async function judgeClaim(
  { holds, broken, unknown }: Findings,
  trial: TrialClaim,
): Promise<readonly CheckFinding[]> {
  try {
    await trial.run()
    return [holds('claim', 'a claim was written, and rolled back')]
  } catch (error) {
    if (trial.isBeforeTables(error)) return []
    const found = `a claim was refused (${trial.codeOf(error) ?? 'no answer'})`
    const why = whyRefused(trial, error)
    if (why === undefined) return [unknown('claim', found, `${describeError(error)}. Ask again.`)]
    return [broken('claim', found, `${why}. The store does not open here.`)]
  }
}

/** Before the first `open` no table exists, and nothing is wrong. */
export function judgeKeys({ broken }: Findings, missing: readonly MissingKey[]): readonly CheckFinding[] {
  const text =
    'Nothing keeps two claims of one key apart: messages run twice. The store does not open here. Remove rows that are there twice, then add the key.'
  return missing.filter(({ isThere }) => isThere).map((key) => broken('keys', explainKey(key), text))
}

/** A table or an index that is gone although all migrations ran. */
export interface MissingThing {
  readonly kind: 'table' | 'index'
  readonly name: string
}

export function judgeMissing({ broken, weaker }: Findings, { kind, name }: MissingThing): CheckFinding {
  const printed = '`consume-once migrate print` has the statement that creates it.'
  if (kind === 'index') {
    return weaker('schema', `index ${name} is missing`, `Purges, lists and the audit read whole tables. ${printed}`)
  }
  const found = `table ${name} is missing, and its migrations ran`
  if (name.endsWith('audit')) {
    return weaker('schema', found, `Messages are handled, but no decision of a person can be written. ${printed}`)
  }
  const text =
    'The store does not open here. Restore the table with its rows: with an empty one, messages that were done run again.'
  return broken('schema', found, text)
}

/** A limit of a statement, in milliseconds, that no application means to have; 0 is none. */
export function isShort(ms: number | null): boolean {
  return ms !== null && ms > 0 && ms < 1_000
}

export const SHORT_STATEMENTS =
  'The server cancels claims, marks and queries of handlers that take longer; they are tried again, and may never succeed.'
