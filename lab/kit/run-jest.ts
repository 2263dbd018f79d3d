import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { readJson } from '../../test/kit/servers/lock.ts'
import { VERSIONS } from '../../test/kit/servers/versions.ts'

/** The part of the `--json` output of jest that is read here. */
export interface JestReport {
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly assertionResults: readonly JestTest[]
  }[]
}

export interface JestTest {
  readonly fullName: string
  readonly status: string
  readonly failureMessages?: readonly string[]
}

interface Options {
  readonly env: Readonly<Record<string, string>>
  /** For what jest writes. */
  readonly folder: string
  /** A tree with tests of its own. @defaultValue this one */
  readonly cwd?: string
  /** Output of jest. @defaultValue 'inherit', on stderr */
  readonly words?: 'inherit' | 'ignore'
  /** Ends jest, which ends what it started. */
  readonly signal?: AbortSignal
}

const JEST = join('node_modules', 'jest', 'bin', 'jest.js')

/** `undefined`: jest ended without a report. */
export async function runJest(
  args: readonly string[],
  { env, folder, cwd = process.cwd(), words = 'inherit', signal }: Options,
): Promise<JestReport | undefined> {
  const output = join(folder, 'jest.json')
  const child = spawn(process.execPath, [JEST, '--silent', '--json', `--outputFile=${output}`, ...args], {
    cwd,
    env: { ...neutralEnvironment(), ...env },
    stdio: ['ignore', 'ignore', words],
    signal,
  })
  await once(child, 'exit')
  return readJson(output) as JestReport | undefined
}

/** Nothing of what the caller may have set narrows the suites or leads them elsewhere. */
function neutralEnvironment(): NodeJS.ProcessEnv {
  const { BACKENDS: _all, CONSUME_ONCE_TEST_RUN: _ours, ...rest } = process.env
  for (const { variable } of Object.values(VERSIONS)) delete rest[variable]
  return rest
}
