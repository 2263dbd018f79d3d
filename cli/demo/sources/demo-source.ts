import type { Consumer, Running } from '../../../src/index.ts'
import type { DeadLetter } from '../../../src/spi.ts'
import { idOf } from '../effects.ts'
import { sha256, type InputMessage } from '../envelope.ts'

/** Every publish of the demo has a number of its own, so a repeated number is a redelivery. */
export const PUBLISH_HEADER = 'demo-publish'

/** One line of `dead-letters.ndjson`. */
export interface DeadLetterRow {
  readonly id: string | null
  readonly reason: string
  readonly payload_sha256: string
}

/** A message to produce. */
export interface Outgoing extends InputMessage {
  readonly publishId: string
}

/** A source for the demo: the demo produces the messages, and consumes them through the real adapter. */
export interface DemoSource {
  /** Why the broker would refuse a message, if it would. Call it before anything is produced. */
  refusal(message: InputMessage): string | undefined
  /** Publishes durably: resolves when the broker has all messages. */
  produce(messages: readonly Outgoing[]): Promise<void>
  run(consumer: Consumer): Promise<Running>
  /**
   * Resolves when everything produced is settled, according to the broker. `isIdle`: nothing is in flight in this
   * process.
   */
  drained(isIdle: () => boolean): Promise<void>
  /** Every dead letter of all runs. */
  deadLetters(): Promise<readonly DeadLetterRow[]>
  /** Topic or queue, for people. */
  readonly place: string
  close(): Promise<void>
}

export function deadLetterRow({ message, reason }: Pick<DeadLetter, 'message' | 'reason'>): DeadLetterRow {
  return {
    id: reason === 'no-id' ? null : idOf(message),
    reason,
    payload_sha256: sha256(message.value ?? new Uint8Array(0)),
  }
}
