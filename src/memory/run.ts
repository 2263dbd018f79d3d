import type { Consumer } from '../consumer/define-consumer.ts'
import { ConfigError } from '../foundation/errors.ts'
import type { Starting } from '../ports/lifecycle.ts'
import { checkNames, givenOf } from '../foundation/option-checks.ts'
import { runConsumer } from '../run/run.ts'
import type { MemoryBroker } from './broker.ts'

export interface RunMemoryOptions {
  readonly topic: string
  readonly group: string
}

const KNOWN: Record<keyof RunMemoryOptions, true> = { topic: true, group: true }

/**
 * Runs a consumer on the broker in this process: for tests, demos and first experiments.
 *
 * @throws (rejects) ConfigError `CONFIG_INVALID`
 */
export function runMemory(broker: MemoryBroker, consumer: Consumer, options: RunMemoryOptions): Starting {
  return runConsumer(consumer, () => {
    const given = givenOf(options)
    const problems: string[] = []
    checkNames('', given, { of: 'runMemory()', known: KNOWN }, problems)
    if (problems.length > 0) throw new ConfigError(problems)
    const source = broker.source(given.topic, given.group)
    return { source, publisher: source }
  })
}
