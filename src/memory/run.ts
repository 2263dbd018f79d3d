import type { Consumer } from '../define-consumer.ts'
import { ConfigError } from '../errors.ts'
import type { Running } from '../lifecycle.ts'
import { runConsumer } from '../run.ts'
import type { MemoryBroker } from './broker.ts'

export interface RunMemoryOptions {
  readonly topic: string
  readonly group: string
}

/** Runs a consumer on the broker in this process: for tests, demos and the first minutes. */
export function runMemory(
  broker: MemoryBroker,
  consumer: Consumer,
  { topic, group }: RunMemoryOptions,
): Promise<Running> {
  if (!topic || !group) throw new ConfigError(['runMemory: expected a topic and a group'])
  const source = broker.source(topic, group)
  return runConsumer(consumer, { source, publisher: source })
}
