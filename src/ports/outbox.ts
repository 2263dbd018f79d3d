import type { Key } from '../core/record.ts'
import type { DurationMs } from '../core/units.ts'
import type { CheckFinding } from './checkup.ts'

interface Common {
  /**
   * 1 to 255 bytes, the same each time this message is published.
   * @defaultValue the `idempotencyKey` of the message being handled, and the number of the call
   */
  readonly messageId?: string
  /**
   * Messages to one place with the same `order` are published in the order of their commits, one after the other.
   * @defaultValue on Kafka the key, else the message being handled
   */
  readonly order?: string
}

/** A message to a topic. */
export interface KafkaOutgoing extends Common {
  readonly topic: string
  /** Text is sent as UTF-8. `null`: a tombstone. */
  readonly value: Uint8Array | string | null
  readonly key?: Uint8Array | string | null
  readonly headers?: Readonly<Record<string, Uint8Array | string>>
  /** @defaultValue chosen by the key */
  readonly partition?: number
}

/** A message to an exchange, or to a queue on the default exchange. */
export interface RabbitOutgoing extends Common {
  /** @defaultValue the default exchange, which routes by the name of a queue */
  readonly exchange?: string
  readonly routingKey: string
  /** Text is sent as UTF-8. */
  readonly body: Uint8Array | string
  /** Values that JSON can carry. */
  readonly headers?: Readonly<Record<string, unknown>>
  /** As amqplib names them, `contentType` for instance. Values that JSON can carry. */
  readonly properties?: Readonly<Record<string, unknown>>
}

/** What a handler publishes. */
export type OutgoingMessage = KafkaOutgoing | RabbitOutgoing

/** A message that is written in a transaction and published after its COMMIT. */
export interface Outgoing {
  /** The same each time the message is published. */
  readonly messageId: string
  readonly system: OutgoingSystem
  /** The topic, or the exchange and the routing key. */
  readonly place: string
  /** Messages of one line are published one after the other, in the order of their rows: a hash, 32 bits with a sign. */
  readonly line: number
  readonly key: Uint8Array | null
  readonly value: Uint8Array | null
  /** What else belongs to the message, as JSON. */
  readonly attributes: string
}

export type OutgoingSystem = 'kafka' | 'rabbitmq'

export interface OutgoingRow extends Outgoing {
  /** The place in the order. */
  readonly id: string
  /** How often it was refused. */
  readonly attempts: number
  /** It was put off before, so rows of its line may have been put behind it. */
  readonly hasWaited: boolean
}

/** A row that no broker has confirmed, and what becomes of it. It holds up its line, unless it is parked. */
export type UnpublishedRow = { readonly row: OutgoingRow } & (
  | { readonly as: 'refused'; readonly cause: string; readonly retryAfterMs: DurationMs }
  /** For a person. */
  | { readonly as: 'parked'; readonly cause: string }
  /** The broker did not answer, which says nothing about the row: no attempt is counted. */
  | { readonly as: 'unanswered'; readonly cause: string | undefined; readonly retryAfterMs: DurationMs }
)

/** Removes what was published, and writes down what was not. Rows of neither stay as they are. */
type Settle = (published: readonly OutgoingRow[], unpublished: readonly UnpublishedRow[]) => Promise<void>

/** Where outgoing messages wait. Several relays may work on one table at once. */
export interface OutboxTable {
  /** Checks the table. */
  open(): Promise<void>
  /** Whether rows are due, also of lines that another relay is working on. Locks nothing, so that it may be asked again and again. */
  isAnyDue(systems: readonly OutgoingSystem[]): Promise<boolean>
  /**
   * Takes rows that are due, of lines that no other relay is working on, in a transaction; of each line the oldest. A row
   * behind one of its line that waits is not due. `undefined`: there are none.
   */
  take(most: number, systems: readonly OutgoingSystem[]): Promise<TakenRows | undefined>
  /** In a transaction of its own, of rows that are put off meanwhile. */
  readonly settle: Settle
}

/** Rows whose lines belong to this relay until the end of the transaction. One that froze loses them with its connection. */
export interface TakenRows {
  /** None: rows were put behind others, and there may be more. */
  readonly rows: readonly OutgoingRow[]
  /** And commits. */
  readonly settle: Settle
}

/** The message being handled, or the call. */
export interface PublishedBy {
  readonly idempotencyKey: string
  /** W3C Trace Context of the run, if it is traced. */
  readonly traceparent?: string | undefined
}

/** What one run of a handler publishes, until its transaction commits. */
export interface Publishing {
  /** Resolves with the ID. */
  publish(message: OutgoingMessage, by: PublishedBy): Promise<string>
  /** What it has published. Later calls are refused. */
  end(): readonly Outgoing[]
}

/** By topic, or exchange and routing key. */
export interface OutboxBacklog {
  readonly system: 'kafka' | 'rabbitmq'
  readonly place: string
  /** Committed and not confirmed, those that failed included. */
  readonly waiting: number
  /** Of these, tried and not accepted. */
  readonly failing: number
  readonly parked: number
  /** Age of the oldest that waits, in milliseconds. */
  readonly oldestMs: DurationMs
}

/** A message that its broker has refused: it is tried again, or parked. In `unconfirmedOf`, also one that only waits. */
export interface OutboxRefused {
  readonly id: string
  readonly place: string
  readonly messageId: string
  /** On Kafka: its key, as UTF-8. */
  readonly key: string | undefined
  /** `undefined`: it was not refused. */
  readonly cause: string | undefined
  readonly attempts: number
  /** Refused too often: it is not tried again. */
  readonly isParked: boolean
}

/** What a relay does. `place`: the topic, or exchange and routing key. */
export type RelayEvent =
  /** Confirmed by the broker and removed. */
  | { readonly event: 'published'; readonly place: string; readonly count: number }
  /** Refused by the broker: it is tried again, or waits for a person. */
  | { readonly event: 'failed' | 'parked'; readonly place: string; readonly messageId: string; readonly cause: string }
  /** The database or the broker does not answer: all rows wait. */
  | { readonly event: 'waits'; readonly cause: string; readonly forMs: DurationMs }

/** What stores, consumers and people use of an outbox. */
export interface Outbox {
  /** For a run that begins to publish. */
  publishing(): Publishing
  /** Whether consumers start it: else somebody else publishes. */
  readonly isBesideConsumers: boolean
  /** Checks the database and brings its tables up to date. A start and a consumer do it too. */
  open(): Promise<void>
  /** Publishes as long as there are more starts than stops. */
  start(): void
  /** Publishes what is committed, for so long at most, and stops if it was started by nobody else. */
  stop(withinMs: DurationMs): Promise<void>
  /** Tells what its relay does in this process, from now on. The listener must not block. */
  watch(listener: (event: RelayEvent) => void): void
  /** Rows were committed by this process. */
  wake(): void
  /** Whether messages can be written and published here, and what waits. Changes nothing. Rejects only without an answer. */
  checkup(): Promise<readonly CheckFinding[]>
  /** What waits, by place. Of more than 10,000 rows the oldest are counted. Like `refused` and `redrive` it makes no table. */
  backlog(): Promise<readonly OutboxBacklog[]>
  /** What was refused, at most 100, the oldest first. */
  refused(): Promise<readonly OutboxRefused[]>
  /**
   * What the handler of one message has published and no broker has confirmed, by the key of that message: at most 100, the oldest first.
   * Only those that were given no `messageId` of their own tell whose they are. Of more than 100,000 rows the oldest are looked at.
   */
  unconfirmedOf(key: Key): Promise<readonly OutboxRefused[]>
  /** Tries refused messages at once, parked ones too, with all their attempts. Resolves with how many of these were refused. @throws ConfigError for an ID that is none */
  redrive(ids: readonly string[]): Promise<number>
}
