import type { Consumer, DeadLetter, Running } from '../../../src/index.ts'
import { idOf } from '../effects.ts'
import { sha256, type InputMessage } from '../envelope.ts'

/** Told apart: every publish of the demo has a number of its own, so a repeated one is a redelivery. */
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

/** Where a demo's messages come from: produced by it, consumed through the real adapter. */
export interface DemoSource {
  /** Why the broker would not take a message, if it would not: to be asked before anything is produced. */
  refusal(message: InputMessage): string | undefined
  /** Publishes durably: resolves when the broker has all of them. */
  produce(messages: readonly Outgoing[]): Promise<void>
  run(consumer: Consumer): Promise<Running>
  /** Resolves when everything produced is settled, as the broker says; `isIdle`: nothing is under way in this process. */
  drained(isIdle: () => boolean): Promise<void>
  /** Every dead letter of all runs. */
  deadLetters(): Promise<readonly DeadLetterRow[]>
  /** For people: topic or queue. */
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
