import { MemoryBroker, type Consumer, type Running } from '../../../src/index.ts'
import { runConsumer, type DeadLetter } from '../../../src/spi.ts'
import { appendNdjson, readNdjson } from '../effects.ts'
import { headerRecord } from '../envelope.ts'
import type { DemoState } from '../state.ts'
import { deadLetterRow, PUBLISH_HEADER, type DeadLetterRow, type DemoSource, type Outgoing } from './demo-source.ts'

/** Messages of one burst of redeliveries. */
const BURST = 300

/** The broker in this process, with the faults of the demo. Its dead letters are lines of a file. */
export class MemoryDemoSource implements DemoSource {
  readonly place = 'broker in memory'
  readonly #broker = new MemoryBroker()
  readonly #name: string
  readonly #deadLetters: string

  constructor(state: DemoState) {
    this.#name = state.namespace
    this.#deadLetters = state.path('dead-letters', 'memory.ndjson')
  }

  refusal(): undefined {}

  async produce(messages: readonly Outgoing[]): Promise<void> {
    for (const { key, value, headers, timestamp, publishId } of messages) {
      this.#broker.publish(this.#name, {
        key,
        value,
        headers: headerRecord([...headers, [PUBLISH_HEADER, publishId]]),
        ...(timestamp === undefined ? {} : { timestamp }),
      })
    }
  }

  run(consumer: Consumer): Promise<Running> {
    const source = this.#broker.source(this.#name, this.#name)
    const deadLetter = async (copy: DeadLetter): Promise<void> => appendNdjson(this.#deadLetters, deadLetterRow(copy))
    return runConsumer(consumer, { source, publisher: { deadLetter } })
  }

  drained(): Promise<void> {
    return this.#broker.drained(this.#name, this.#name)
  }

  async deadLetters(): Promise<readonly DeadLetterRow[]> {
    return readNdjson<DeadLetterRow>(this.#deadLetters)
  }

  /** Delivers unsettled messages once more. */
  redeliver(): void {
    this.#broker.redeliver(this.#name, this.#name, BURST)
  }

  rebalance(): void {
    this.#broker.rebalance(this.#name, this.#name)
  }

  /** Simulates the death of the consumer's process: unsettled messages are delivered again, to its successor. */
  kill(): void {
    this.#broker.kill(this.#name, this.#name)
  }

  async close(): Promise<void> {}
}
