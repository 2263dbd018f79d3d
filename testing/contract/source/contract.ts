import type { Consumer } from '../../../src/consumer/define-consumer.ts'
import type { Starting } from '../../../src/ports/lifecycle.ts'
import { checkSuite } from '../check-suite.ts'
import { describeLaws, needsOf, type Runner } from '../law.ts'
import type { SourceCapability, SourceHarness, SourceLaw } from './harness.ts'
import { sourceLaws } from './laws.ts'

const WITHIN_MS = 90_000

/** A source whose contract is tested. */
export interface SourceUnderContract {
  /** Called for each law: a topic or queue of its own. */
  readonly createHarness: () => Promise<SourceHarness>
  /** What the source or its broker lacks, each with the reason; the laws that need it are skipped. @defaultValue nothing */
  readonly lacks?: { readonly [C in SourceCapability]?: string }
}

/**
 * The suite that every source must pass. Each law has a topic or queue of its own.
 * @throws ConfigError `CONFIG_INVALID` for an unknown name or capability, or one without a reason
 */
export function describeSourceContract(name: string, source: SourceUnderContract, runner: Runner): void {
  const capabilities = [...new Set(sourceLaws.flatMap<SourceCapability>(needsOf))]
  checkSuite(name, source, { capabilities })
  const { createHarness, lacks = {} } = source
  const keep = (law: SourceLaw): Promise<void> => assertSourceLaw(law, createHarness)
  describeLaws(
    `${name} keeps the contract of a source`,
    { laws: sourceLaws, lacks, keep, timeoutMs: WITHIN_MS },
    runner,
  )
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
