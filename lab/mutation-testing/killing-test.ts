import { relative } from 'node:path'
import type { JestReport, JestTest } from '../kit/run-jest.ts'
import type { Outcome } from './outcome.ts'
import type { Mutant } from '../mutants/mutant.ts'

/** The test that must fail with a mutant, and must not without. */
export interface KillingTest {
  readonly file: string
  /** As jest takes it: a regular expression for full names. */
  readonly title: string
}

/** Out of the arguments of jest. */
export function killingTestOf({ name, tests = [] }: Mutant): KillingTest {
  const [file, flag, title] = tests
  if (file !== undefined && flag === '-t' && title !== undefined && tests.length === 3) return { file, title }
  throw new TypeError(`${name}: expected tests of the form [file, '-t', title], got ${JSON.stringify(tests)}`)
}

/** Reason to distrust the test: it fails without the mutant, or does not run; `undefined`: it passes. */
export function failureWithout(test: KillingTest, report: JestReport | undefined, root: string): Outcome | undefined {
  const ran = ranOf(test, report, root)
  const failed = ran.find(({ status }) => status === 'failed')
  if (failed !== undefined) return { kind: 'unproven', why: `it fails without it too: ${failed.fullName}` }
  return ran.length === 0 ? { kind: 'unproven', why: `no test of ${test.file} is '${test.title}'` } : undefined
}

/** Only an expectation that failed counts: code that cannot be loaded and tests that hang find nothing out. */
export function outcomeOf(test: KillingTest, report: JestReport | undefined, root: string): Outcome {
  const ran = ranOf(test, report, root)
  if (ran.length === 0) return { kind: 'unproven', why: 'with it no test was run' }
  const failed = ran.filter(({ status }) => status === 'failed')
  const [killer] = failed.filter((one) => !isHanging(one))
  if (killer !== undefined) return { kind: 'killed', by: killer.fullName }
  if (failed.length > 0) return { kind: 'unproven', why: `with it ${failed[0]?.fullName} did not end` }
  return { kind: 'alive', why: `passed with it: ${ran.map(({ fullName }) => fullName).join('; ')}` }
}

function ranOf({ file, title }: KillingTest, report: JestReport | undefined, root: string): readonly JestTest[] {
  const result = report?.testResults.find(({ name }) => relative(root, name) === file)
  const isMeant = new RegExp(title, 'i')
  const tests = result?.assertionResults ?? []
  return tests.filter(({ fullName, status }) => isMeant.test(fullName) && (status === 'passed' || status === 'failed'))
}

function isHanging({ failureMessages = [] }: JestTest): boolean {
  return failureMessages.every((message) => /Exceeded timeout of \d+ ms/.test(message))
}
