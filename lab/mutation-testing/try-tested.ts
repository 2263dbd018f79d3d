import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runJest, type JestReport } from '../kit/run-jest.ts'
import { CopiedTree } from './copied-tree.ts'
import type { Outcome, Tried } from './outcome.ts'
import { outcomeOf, failureWithout, killingTestOf, type KillingTest } from './killing-test.ts'
import type { Mutant } from '../mutants/mutant.ts'

interface Options {
  /** Names the servers that all tests use. */
  readonly env: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly onTried: (tried: Tried) => void
}

/** Each mutant with the test that is to kill it, one after the other: the tests have the machine for themselves. */
export async function tryTested(mutants: readonly Mutant[], { env, signal, onTried }: Options): Promise<void> {
  const tree = new CopiedTree()
  const words = 'ignore'
  const folder = mkdtempSync(join(tmpdir(), 'consume-once-mutants-report-'))
  const { folder: cwd } = tree
  const run = async (tests: readonly KillingTest[]): Promise<JestReport | undefined> => {
    try {
      return await runJest(argumentsFor(tests), { env, signal, cwd, words, folder })
    } finally {
      rmSync(join(folder, 'jest.json'), { force: true })
    }
  }
  try {
    const tests = new Map(mutants.map((mutant) => [mutant, killingTestOf(mutant)]))
    const without = await run([...tests.values()])
    for (const [mutant, test] of tests) {
      const startedAt = performance.now()
      const outcome: Outcome =
        failureWithout(test, without, cwd) ??
        (await tree.with(mutant, async () => outcomeOf(test, await run([test]), cwd)))
      onTried({ mutant, outcome, seconds: (performance.now() - startedAt) / 1_000 })
    }
  } finally {
    tree.remove()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Runs several tests at once. A title may match in the file of another test as well: that test then runs too, and is ignored. */
function argumentsFor(tests: readonly KillingTest[]): readonly string[] {
  const files = new Set(tests.map(({ file }) => file))
  const titles = new Set(tests.map(({ title }) => `(?:${title})`))
  return ['--runTestsByPath', ...files, '-t', [...titles].join('|')]
}
