import { backends } from './backends.ts'
import { compiledPrograms } from './compiled.ts'
import { SERVER_NAMES } from './servers/catalogue.ts'
import { sharedEndpoint } from './servers/server.ts'
import { closeRun, openRun } from './servers/test-run.ts'

interface JestRun {
  readonly nonFlagArgs: readonly string[]
  readonly onlyChanged: boolean
  readonly testPathPatterns: { readonly patterns: readonly string[] }
}

/**
 * Opens the test run. Servers are looked for when a test first asks, so that `jest test/unit` starts none; only a run
 * of the whole suite, which needs them all, looks at once and for all together. A failure is told by the tests. So with what
 * processes run (compiled.ts).
 */
export default async function globalSetup(run: JestRun): Promise<void> {
  await openRun()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => void endBy(signal))

  const isWholeSuite = run.nonFlagArgs.length === 0 && run.testPathPatterns.patterns.length === 0 && !run.onlyChanged
  if (isWholeSuite) {
    compiledPrograms()
    await Promise.allSettled(SERVER_NAMES.filter((name) => backends.has(name)).map(sharedEndpoint))
  }
}

/** jest ends by a signal without its global teardown. */
async function endBy(signal: NodeJS.Signals): Promise<void> {
  try {
    await closeRun()
  } finally {
    process.kill(process.pid, signal)
  }
}
