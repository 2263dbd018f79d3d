import type { Key, Reason } from '../core/record.ts'
import type { DurationMs, EpochMs } from '../core/units.ts'
import type { BrokerSystem, Message } from './message.ts'

/** The places of a broker that can be read again, and where dead letters can be sent back to. Part of a `Subscription`. */
export interface ReplayPlaces {
  /** What stands before the `:` of a place: `kafka:sms`, `rabbitmq:emails`. */
  readonly system: BrokerSystem | 'file'
  /** Topics, or the queue, with the dead letters of this consumer; empty if it has none. */
  readonly deadLetters: readonly string[]
  /**
   * Opens a place for reading. `place` has no prefix: `sms`, `sms@3`, a queue.
   *
   * @throws ConfigError `CONFIG_INVALID` for a place that is not there, or that cannot be read again; BrokerError
   */
  open(place: string): Promise<ReplayReader>
  /** Opens a publisher that sends dead letters back. @throws BrokerError */
  publisher(): Promise<ReplayPublisher>
}

/** Reads a bounded range of one place. It never changes the positions or the messages of the live consumers. */
export interface ReplayReader {
  /**
   * True for queues: reading takes a message out, and `ReplayItem.settle` ends it. False for logs and files, which are
   * read again from any position.
   */
  readonly takes: boolean
  /** Finds the range, and fixes its end: messages that arrive later are not part of it. */
  range(asked: AskedRange): Promise<ReplayRange>
  /**
   * The messages of the range, in batches of at most 1,000, in the order of their positions within each part. Ends when the
   * end of the range is reached, also where its last positions have no message. Logs: begins at `from`, for the parts
   * that it names.
   *
   * @throws ReplayError `REPLAY_RANGE_LOST` if the broker has removed messages of the range before they were read: it never jumps
   */
  read(range: ReplayRange, options: ReadOptions): AsyncIterable<readonly ReplayItem[]>
  /** Queues: returns what was read and not settled. */
  close(): Promise<void>
}

export interface AskedRange {
  /** Arrival at or after this time. */
  readonly since?: EpochMs | undefined
  /** Arrival before this time. */
  readonly until?: EpochMs | undefined
  /** Positions from this one, in each part. */
  readonly from?: bigint | undefined
  /** Positions before this one, in each part. */
  readonly to?: bigint | undefined
  /** The most messages, over all parts. */
  readonly max?: number | undefined
}

export interface ReplayRange {
  readonly parts: readonly ReplayPart[]
  /** What reading costs, and what is uncertain, for the person who decides: one sentence each. */
  readonly warnings: readonly string[]
}

/** A partition, a queue, or a file. */
export interface ReplayPart {
  /** `sms/3`, or the name of the queue or file. */
  readonly part: string
  /** Position of the first message, as decimal text. Queues: 0. */
  readonly from: string
  /** Position after the last message. Queues: how many messages. */
  readonly to: string
}

/** For each part the position from which nothing is accounted for. */
export type Checkpoint = Readonly<Record<string, string>>

export interface ReadOptions {
  readonly from?: Checkpoint | undefined
  readonly signal: AbortSignal
  /** The most messages that may be read and not yet asked for. @defaultValue 1000 */
  readonly ahead?: number | undefined
}

export interface ReplayItem {
  readonly part: string
  /** Position in the part, as decimal text. Queues: counts from 0, and means nothing after this reading. */
  readonly position: string
  /** As the live consumer would get it: a dead letter has the origin of its message. */
  readonly message: Message
  /** When the message came to the broker, or was created; `undefined`: not known. */
  readonly timestamp: EpochMs | undefined
  /** `broker`: the broker set the timestamp. `producer`: the clock of the producer, which may be wrong. */
  readonly timestampOf: 'broker' | 'producer'
  /** What its copy says, if the message is a dead letter. */
  readonly deadLetter?: DeadLetterFacts | undefined
  /** Queues: ends the message. `done`: it is acknowledged. `return`: it goes back to the queue, when the reader closes at the latest. */
  settle?(how: 'done' | 'return'): Promise<void>
}

export interface DeadLetterFacts {
  readonly reason: Reason | undefined
  readonly parked: boolean
  /** When it was set aside, if the copy says so. */
  readonly since: EpochMs | undefined
  /** Consumer name and group that set it aside, if the copy says so. */
  readonly consumer: string | undefined
  readonly group: string | undefined
  /** Where the message was first published, as a destination of `ReplayPublisher`; `undefined`: no header tells. */
  readonly destination: string | undefined
}

/** Sends messages back to where they came from. */
export interface ReplayPublisher {
  /**
   * Publishes with the same ID, body, key and properties, without the headers that describe the dead letter, and with `headers` added.
   * Resolves when the broker has confirmed all of them and each has reached a queue or partition.
   *
   * @throws BrokerError: some may have been published; publish all of them again
   */
  publish(messages: readonly Republished[]): Promise<void>
  close(): Promise<void>
}

export interface Republished {
  readonly item: ReplayItem
  /** Topic, or queue. */
  readonly destination: string
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Where replays keep their state, so that one killed on one machine is resumed on another, and nobody runs a plan twice. Part of
 * `StoreAdmin`. Each method is atomic.
 */
export interface ReplayLedger {
  /**
   * Creates the replay if it is not there, and takes it for `owner` for `ttlMs`, unless another owner has it. The same owner may
   * take it again. Another owner than the last one finds no request to pause; a request to abort stays.
   */
  take(scope: string, id: string, how: Taking): Promise<TakeVerdict>
  /** Writes the state and extends the hold. `held: false`: `owner` has lost it, and nothing was written. */
  save(scope: string, id: string, how: Taking): Promise<SaveAnswer>
  /** Ends the hold of `owner`, and keeps the state. */
  leave(scope: string, id: string, owner: string): Promise<void>
  /** Asks the owner to pause or abort; it sees that in the answer of its next `save`. `undefined` removes the request. */
  ask(scope: string, id: string, request: ReplayRequest | undefined): Promise<boolean>
  /** `undefined`: not there. */
  read(scope: string, id: string): Promise<LedgerEntry | undefined>
  /** The newest first, at most `limit`. */
  list(scope: string, limit: number): Promise<readonly LedgerEntry[]>
}

export interface Taking {
  readonly owner: string
  readonly ttlMs: DurationMs
  /** Opaque text, at most 1 MB. */
  readonly state: string
}

/** `taken`: created, or its state was kept as it is. `state`: what is stored now. */
export type TakeVerdict =
  | { readonly verdict: 'taken'; readonly state: string }
  | { readonly verdict: 'held'; readonly leftMs: DurationMs; readonly state: string }

export type ReplayRequest = 'pause' | 'abort'

export type SaveAnswer = { readonly held: true; readonly request: ReplayRequest | undefined } | { readonly held: false }

export interface LedgerEntry {
  readonly id: string
  readonly state: string
  readonly createdAt: EpochMs
  readonly savedAt: EpochMs
  /** 0: nobody holds it. */
  readonly heldForMs: DurationMs
  readonly request: ReplayRequest | undefined
}

/** One decision of a person, as the store recorded it. */
export interface AuditEntry {
  /** Grows with time; the cursor of `StoreAdmin.audit`. */
  readonly id: string
  readonly at: EpochMs
  /** Empty for a note, which is about no message. */
  readonly key: Key
  /** `done`, `rerun`, `reopen`, `forget`, `import`; `pause`, `resume`, `abort`, `start`, `redrive` of a note. */
  readonly decision: string
  readonly by: string
  readonly reason: string
  /** State of the record before the decision. Empty for a note. */
  readonly before: string
  /** Notes: what they are about, such as `consumer` or `replay 7f3a91c2`. */
  readonly about?: string | undefined
  /** The record before the decision, as the store wrote it. */
  readonly record?: string | undefined
}
