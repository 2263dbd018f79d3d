import type { Consumer } from '../../../src/consumer/define-consumer.ts'
import type { Starting } from '../../../src/ports/lifecycle.ts'
import { describeLaws, type Runner } from '../law.ts'
import type { SourceHarness, SourceLaw } from './harness.ts'
import { sourceLaws } from './laws.ts'

const WITHIN_MS = 90_000

/** The suite that every source must pass. Each law has a topic or queue of its own. */
export function describeSourceContract(
  name: string,
  createHarness: () => Promise<SourceHarness>,
  runner: Runner,
): void {
  const keep = (law: SourceLaw): Promise<void> => assertSourceLaw(law, createHarness)
  describeLaws(`${name} keeps the contract of a source`, { laws: sourceLaws, keep, timeoutMs: WITHIN_MS }, runner)
}

/** Runs one law on a harness of its own, and stops everything that it started. Rejects if the source breaks the law. */
export async function assertSourceLaw(law: SourceLaw, createHarness: () => Promise<SourceHarness>): Promise<void> {
  await using harness = await createHarness()
  const started: Starting[] = []
  const run = (consumer: Consumer): Starting => {
    const starting = harness.run(consumer)
    started.push(starting)
    return starting
  }
  try {
    await law.run({ ...harness, run })
  } finally {
    await Promise.all(started.map((running) => running.stop({ deadlineMs: 100 })))
  }
}
