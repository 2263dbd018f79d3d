import { runJest } from '../kit/run-jest.ts'
import { outcomesOf, type SuiteOutcome } from './outcome.ts'

interface Options {
  readonly env: Readonly<Record<string, string>>
  /** For what jest writes. */
  readonly folder: string
  /** Output of jest. @defaultValue 'inherit', on stderr */
  readonly words?: 'inherit' | 'ignore'
  /** Ends jest, which ends what it started. */
  readonly signal?: AbortSignal
}

/** Runs these test files under jest. */
export async function runSuites(files: readonly string[], options: Options): Promise<readonly SuiteOutcome[]> {
  const report = await runJest(['--runTestsByPath', ...files], options)
  return outcomesOf(files, report ?? { testResults: [] })
}
