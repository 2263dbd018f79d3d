import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { readJson } from '../support/servers/lock.ts'
import { VERSIONS } from '../support/servers/versions.ts'
import { outcomesOf, type JestReport, type SuiteOutcome } from './outcome.ts'

const JEST = join('node_modules', 'jest', 'bin', 'jest.js')

interface Options {
  readonly env: Readonly<Record<string, string>>
  /** For what jest writes. */
  readonly folder: string
  /** What becomes of what jest says. @defaultValue 'inherit', on stderr */
  readonly words?: 'inherit' | 'ignore'
  /** Ends jest, which ends what it started. */
  readonly signal?: AbortSignal
}

/** Runs these test files under jest. */
export async function runSuites(
  files: readonly string[],
  { env, folder, words = 'inherit', signal }: Options,
): Promise<readonly SuiteOutcome[]> {
  const output = join(folder, 'jest.json')
  const args = [JEST, '--silent', '--json', `--outputFile=${output}`, '--runTestsByPath']
  const child = spawn(process.execPath, [...args, ...files], {
    env: { ...neutralEnvironment(), ...env },
    stdio: ['ignore', 'ignore', words],
    signal,
  })
  await once(child, 'exit')
  return outcomesOf(files, (readJson(output) as JestReport | undefined) ?? { testResults: [] })
}

/** Nothing of what the caller may have set narrows the suites or leads them elsewhere. */
function neutralEnvironment(): NodeJS.ProcessEnv {
  const { BACKENDS: _all, CONSUME_ONCE_TEST_RUN: _ours, ...rest } = process.env
  for (const { variable } of Object.values(VERSIONS)) delete rest[variable]
  return rest
}
