import type { Consumer } from '../consumer/define-consumer.ts'
import type { Starting } from '../ports/lifecycle.ts'
import { optionsOf } from '../foundation/options.ts'
import { runConsumer } from '../run/run.ts'
import { SOURCE, type MemoryBroker } from './broker.ts'

export interface RunMemoryOptions {
  readonly topic: string
  readonly group: string
}

/**
 * Runs a consumer on the broker in this process: for tests, demos and first experiments.
 *
 * @throws (rejects) ConfigError `CONFIG_INVALID`
 */
export function runMemory(broker: MemoryBroker, consumer: Consumer, options: RunMemoryOptions): Starting {
  return runConsumer(consumer, () => {
    const { topic, group } = optionsOf('runMemory', SOURCE, options)
    const source = broker.source(topic, group)
    return { source, publisher: source }
  })
}
