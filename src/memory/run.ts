import type { Consumer } from '../define-consumer.ts'
import type { Starting } from '../lifecycle.ts'
import { runConsumer } from '../run.ts'
import type { MemoryBroker } from './broker.ts'

export interface RunMemoryOptions {
  readonly topic: string
  readonly group: string
}

/**
 * Runs a consumer on the broker in this process: for tests, demos and first experiments.
 *
 * @throws (rejects) ConfigError `CONFIG_INVALID`
 */
export function runMemory(broker: MemoryBroker, consumer: Consumer, { topic, group }: RunMemoryOptions): Starting {
  return runConsumer(consumer, () => {
    const source = broker.source(topic, group)
    return { source, publisher: source }
  })
}
