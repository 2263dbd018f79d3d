import { basename } from 'node:path'
import type { JestReport } from '../kit/run-jest.ts'

/** Results of the tests of one file on one target. */
export interface SuiteOutcome {
  /** Path of the test file, without its ending. */
  readonly suite: string
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  /** The full names of those that failed. */
  readonly failures: readonly string[]
  /** Each reason once that the titles of skipped ones give. */
  readonly skippedFor: readonly string[]
}

/** Outcomes of these files, ordered by name. A file that jest could not load or does not mention has failed. */
export function outcomesOf(files: readonly string[], { testResults }: JestReport): readonly SuiteOutcome[] {
  return files.toSorted().map((file): SuiteOutcome => {
    const suite = basename(file, '.test.ts')
    const result = testResults.find(({ name }) => basename(name, '.test.ts') === suite)
    if (result === undefined)
      return { suite, passed: 0, failed: 1, skipped: 0, failures: ['jest did not run it'], skippedFor: [] }
    const { status, assertionResults: tests } = result
    const passed = tests.filter((test) => test.status === 'passed').length
    const failures = tests.filter((test) => test.status === 'failed').map(({ fullName }) => fullName)
    const skipped = tests.length - passed - failures.length
    if (status === 'failed' && failures.length === 0) failures.push('jest could not load it')
    const skippedFor = new Set(tests.filter(({ status: of }) => of !== 'passed' && of !== 'failed').map(reasonOf))
    return { suite, passed, failed: failures.length, skipped, failures, skippedFor: [...skippedFor] }
  })
}

/** As the contracts, and tests of one version (server-versions.ts), put it behind the name. */
function reasonOf({ fullName }: { readonly fullName: string }): string {
  return /\(not (?:here|run): (?<reason>.*)\)/.exec(fullName)?.groups?.['reason'] ?? 'no reason given'
}
