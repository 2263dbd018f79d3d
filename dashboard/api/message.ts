// One message: whether it went out, what happened, what to do.

import type { Key, RecordView } from '../../src/core/record.ts'
import type { EpochMs } from '../../src/core/units.ts'
import type { Advice } from '../../src/people/advice.ts'
import type { LiveEntry } from '../../src/signals/live-snapshot.ts'
import type { AuditRow, DecisionKind } from './decisions.ts'
import type { RecordRow } from './records.ts'
import type { ApiError, ConsumerQuery } from './session.ts'

/** One of `id`, `key` and `at`. */
export interface MessageQuery extends ConsumerQuery {
  readonly id?: string
  /** A key, its first 4 characters or more, an idempotency key, or an ID: of who does not know which it is. */
  readonly key?: string
  /** `topic/partition/offset`, on Kafka. */
  readonly at?: string
  /** With `id`: where it was first published. @defaultValue all origins of the consumer */
  readonly origin?: string
}

export interface MessageAnswer {
  readonly now: EpochMs
  /** One for each origin under which the message has a record; one that is `absent` if there is none. */
  readonly records: readonly MessageRecord[]
  /** With `at`: what lies there. */
  readonly message: ShownMessage | undefined
  /** With `at`: the message has no usable ID; why. */
  readonly noId: string | undefined
}

export interface MessageRecord extends RecordRow {
  readonly origin: string | undefined
  /** By which a provider can be asked. `undefined`: a store does not know it, and the message was found by its key. */
  readonly idempotencyKey: string | undefined
  /** Starts of the handler before it is given up, or parked if it is in doubt. */
  readonly maxAttempts: number
  /** Whether it went out; before it, that another message came with the same ID. */
  readonly verdicts: readonly Verdict[]
  /** Another message came with the same ID and another payload. */
  readonly isConflict: boolean
  /** What happened, in the order of time. */
  readonly story: readonly Told[]
  /** What to do about it, in plain words. */
  readonly advice: Advice
  /** What a person may decide about it. Empty if the dashboard is read-only. */
  readonly decisions: readonly DecisionKind[]
  /** Decisions about this message, the newest first, at most 50. */
  readonly audit: readonly AuditRow[]
  /** What live consumers remember about it, the oldest first: deliveries with their steps, failed attempts. */
  readonly entries: readonly (LiveEntry & { readonly instance: string })[]
}

export interface Verdict {
  readonly tone: 'good' | 'watch' | 'alarm' | 'none'
  readonly text: string
  readonly details: readonly string[]
}

/** One sentence of what happened. */
export interface Told {
  readonly from: EpochMs
  /** Later than `from` if the same happened several times. */
  readonly to: EpochMs
  readonly text: string
  /** `topic/partition/offset` of the delivery, on Kafka: `at` of a `MessageQuery`. */
  readonly at: string | undefined
}

/** A message as the broker has it. Payload and headers only with `showPayload` for its consumer, redacted. */
export interface ShownMessage {
  /** `sms/3` */
  readonly part: string
  readonly position: string
  readonly origin: string
  readonly timestamp: EpochMs | undefined
  readonly bytes: number | undefined
  readonly payload: string | undefined
  /** The payload was longer than 16 kB, and was cut. */
  readonly isCut: boolean
  readonly headers: readonly { readonly name: string; readonly value: string }[] | undefined
  /** Names of `redact` that no field and no header of it has. */
  readonly unmatched: readonly string[]
  /** Why the audit does not have that this person was shown the payload; `undefined`: it has, or none was shown. */
  readonly unnoted: string | undefined
}

/** Which consumers know a message by this text: an ID, a key, an idempotency key, or on Kafka a place. */
export interface FindAnswer {
  readonly now: EpochMs
  /** Those with a record of it, or with a process that remembers a delivery of it; of a place, those that read its topic. */
  readonly found: readonly {
    readonly consumer: string
    /** What the text is: give it as this field of a `MessageQuery`. */
    readonly by: 'id' | 'key' | 'at'
    /** `undefined`: the message at this place has no usable ID. */
    readonly key: Key | undefined
    readonly state: RecordView['state'] | undefined
  }[]
  /** Consumers whose store or broker did not answer. */
  readonly failed: readonly { readonly consumer: string; readonly error: ApiError['error'] }[]
}
