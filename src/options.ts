import type { Backoff } from './core/backoff.ts'
import type { DurationMs } from './core/units.ts'
import type { Decode, StandardSchema } from './decode.ts'
import type { IdExtractor } from './message-id.ts'
import type { Logger } from './ports/logger.ts'
import type { Message } from './ports/message.ts'
import type { Observer } from './ports/observer.ts'
import type { Store } from './ports/store.ts'

/** What every handler gets. */
interface HandlerContextBase<Payload> {
  readonly message: Message
  /** Decoded and, with a `schema`, checked. */
  readonly payload: Payload
  /**
   * Aborts when the handler timed out or the stop deadline passed; under a lease also when the lease is lost, or the partition or
   * channel is gone. In a transaction (inbox, `offsets`) a handler whose partition or channel is gone is not aborted: it can still commit.
   */
  readonly signal: AbortSignal
  /** 43 characters, the same in every attempt: hand it to a provider that deduplicates on it. No personal data in it. */
  readonly idempotencyKey: string
  /** Counts from 1, durably, before the handler starts. */
  readonly attempt: number
  readonly log: Logger
}

/** What the strategy of the store adds: a transaction (inbox), or a fence (lease). Never both. */
type StrategyContext<Tx> = [Tx] extends [never]
  ? {
      /**
       * Grows with each claim of the message while its record lives. Hand it to whatever can compare it. After the store
       * lost the record, or retention ended, it starts again at 1.
       */
      readonly fence: number
    }
  : {
      /** The transaction that the mark is written in. Revoked when the handler ends or is aborted. */
      readonly tx: Tx
    }

export type HandlerContext<Payload, Tx = never> = HandlerContextBase<Payload> & StrategyContext<Tx>

type BatchItemFence<Tx> = [Tx] extends [never] ? { readonly fence: number } : unknown

/** One fresh message of a batch. */
export type BatchItem<Payload, Tx = never> = Omit<HandlerContextBase<Payload>, 'signal' | 'log'> & BatchItemFence<Tx>

export type BatchContext<Payload, Tx = never> = {
  /** Fresh messages only, in the order of their lanes. */
  readonly messages: readonly BatchItem<Payload, Tx>[]
  readonly signal: AbortSignal
  readonly log: Logger
} & ([Tx] extends [never] ? unknown : { readonly tx: Tx })

/** The effect, for one message or for many. Give exactly one. */
export type Handling<Payload, Tx> =
  | {
      /**
       * Runs the effect of one message. A throw before `signal` aborted asserts that no effect happened and none will; throw
       * `OutcomeUnknownError` where one may have, `NoEffectError` after an abort that surely had none, `TerminalError` where
       * no further attempt helps.
       */
      readonly handle: (context: HandlerContext<Payload, Tx>) => unknown
      readonly handleBatch?: never
    }
  | {
      /**
       * Runs the effects of many fresh messages: with an inbox the fast path, one transaction for all. If it throws, each
       * message runs again alone. On a lease the whole batch is in doubt when the process dies, and a throw after a part of the
       * effects must be an `OutcomeUnknownError`: a plain one asserts that none of them happened.
       */
      readonly handleBatch: (context: BatchContext<Payload, Tx>) => unknown
      readonly handle?: never
      /** What it returns and throws is of all its messages, so of none. */
      readonly rememberResult?: false
      readonly rememberFailure?: never
    }

/** The answer to "did it happen?" for a message in doubt. */
export type Reconciled = 'happened' | 'did-not-happen' | 'unknown'

export interface SealResult {
  seal(text: string, key: string): string
  /** @throws for what was sealed with a secret that is not known here */
  open(sealed: string, key: string): string
}

export interface ConsumerSettings<Decoded, Payload, Tx> {
  /** Part of the scope, so of every key: another name handles everything again. 1 to 200 characters. */
  readonly name: string
  /** Where records live. */
  readonly store: Store<Tx>
  /**
   * The business identity. Not with a store of strategy `offsets`, where a message is its partition and offset.
   * @defaultValue the first of the usual places that is there (`standardId()`)
   */
  readonly id?: IdExtractor<Decoded>
  /** From raw bytes, after the digest was taken. @defaultValue `json()` */
  readonly decode?: Decode<Decoded>
  /** Any Standard Schema: the payload is typed and checked. What fails it is set aside and dead-lettered. */
  readonly schema?: StandardSchema<Decoded, Payload>
  /**
   * Handler slots of a lease: messages claimed at once, in batches or one by one, which is also the most that a crash can
   * repeat. An inbox has `transactions` instead. @defaultValue 64
   */
  readonly concurrency?: number
  /** Inbox: transactions open at once, each on its own connection. @defaultValue 4 */
  readonly transactions?: number
  /** Messages that share a transaction or a `handleBatch` call at most. @defaultValue 100, with `handleBatch` 500 */
  readonly batchSize?: number
  /**
   * Deliveries of one Kafka partition, or one queue, taken and not yet settled. At the limit no further message is identified: that
   * partition or queue is paused until half is left, and what the broker has sent already waits as raw bytes. It must hold enough keys
   * for all handlers; what waits beyond that costs memory and the time of the garbage collector.
   * @defaultValue twice what can be claimed at once (`concurrency` of a lease, `transactions` x `batchSize` of an inbox), at least 500
   */
  readonly maxInFlight?: number
  /**
   * How long a claim holds without renewal, in milliseconds. Shorter: a dead owner is noticed sooner, but a long pause of the process, or
   * of its connection to the store, loses the claim. `ctx.signal` aborts a tenth of it, a second at most, before it ends. @defaultValue 30000
   */
  readonly leaseMs?: DurationMs
  /** How often running claims are renewed, in batches: less than `leaseMs` without the margin before its end. @defaultValue a third of `leaseMs` */
  readonly renewEveryMs?: DurationMs
  /**
   * How long `done` is kept: longer than the broker can redeliver (`suggestRetention()` adds it up), and than an attempt and the delay after it.
   * @defaultValue 7 days
   */
  readonly retentionMs?: DurationMs
  /**
   * A message that the store knows nothing of, with a timestamp older than `retentionMs` (less a clock margin of up to a minute): whatever
   * was known of it may have been forgotten. `run` runs it. `park` sets it aside for a person, `beyond-retention`. `skip` takes it for handled: it
   * never runs, is marked, and settled as duplicate; what was in truth never handled is lost by that. Without a timestamp it runs. Not
   * with a store of strategy `offsets`, which forgets nothing. @defaultValue `run`, told to the observer
   */
  readonly onBeyondRetention?: 'run' | 'park' | 'skip'
  /**
   * Removes what is past its retention, in stores that do not do so by themselves: every 10 minutes, not before 5 minutes after a start or
   * a rebalance, in batches. @defaultValue `background`
   */
  readonly purge?: 'background' | 'never'
  /** A handler that runs longer is aborted; what it did is in doubt. @defaultValue 60000 */
  readonly handlerTimeoutMs?: DurationMs
  /** How long an aborted handler may take to end; after that it counts as stuck and health is not live. @defaultValue 5000 */
  readonly graceMs?: DurationMs
  /**
   * Handler starts, counted in the store, before a message is set aside and dead-lettered. Every start counts, also one that died with
   * its process or that the deadline of `stop()` ended; only what was claimed and never began is given back. What was interrupted by a crash runs again in smaller batches, its last attempt beside
   * nothing: with 2 that is each message that was under way. @defaultValue 5
   */
  readonly maxAttempts?: number
  /** Delay between attempts: exponential with jitter, in the message's lane. @defaultValue 200 ms to 30 s */
  readonly retry?: Partial<Backoff>
  /** Only `dead-letter` for now: a message without an identity is never merged with another and never dropped. */
  readonly onMissingId?: 'dead-letter'
  /**
   * Same ID, other payload. `duplicate` compares no digests: for senders whose re-sends differ.
   * @defaultValue `dead-letter`
   */
  readonly onConflict?: 'dead-letter' | 'duplicate'
  /**
   * Lease only. A message whose effect may or may not have happened: run it again, set it aside for a person, or ask.
   * @defaultValue `rerun`
   */
  readonly onInDoubt?:
    | 'rerun'
    | 'park'
    | ((message: Message, idempotencyKey: string) => Reconciled | Promise<Reconciled>)
  /**
   * Keeps what `handle` returns with the mark, as JSON, and hands it to every duplicate (`Settlement.result`). `undefined`, `null`
   * and empty text are results too. What cannot be kept is `RESULT_NOT_KEPT`. Not with `handleBatch`, nor strategy `offsets`.
   * @defaultValue false
   */
  readonly rememberResult?: boolean
  /** Of a result's JSON, in UTF-8, or of what `sealResult` made of it. Up to 1048576. @defaultValue 16384 */
  readonly maxResultBytes?: number
  /**
   * Says which failures are the answer: nothing they depend on will change. Such a message is marked done, with name, message and
   * code of what was thrown, is settled, and every duplicate gets the same failure (`Settlement.failure`). With an inbox what the handler wrote is
   * rolled back. Not asked after an abort or an `OutcomeUnknownError`; a message in doubt is parked instead. Anything but `true` is no,
   * a throw too. Not with `handleBatch`, nor strategy `offsets`. @defaultValue none
   */
  readonly rememberFailure?: (error: unknown) => boolean
  /**
   * Encrypts what is kept with the marks, results and failures, and decrypts it for duplicates. `key` is that of the record, and the same for
   * both: bind it as associated data, so that nobody can exchange what two records keep. Where `seal` throws, a result is `RESULT_NOT_KEPT` and a
   * failure is not remembered; where `open` throws, duplicates are told `RESULT_UNREADABLE`. @defaultValue kept as it is
   */
  readonly sealResult?: SealResult
  /** Fail closed: the source pauses, and resumes by itself. */
  readonly onStoreDown?: 'pause'
  /** Any pino-shaped logger. No payload is logged, and no raw ID without `logIds`. @defaultValue none */
  readonly log?: Logger
  /**
   * Logs the raw message ID (`id`) beside its key. An ID is often a phone number or an address: then the log is personal data. The key alone
   * finds a record, and `consume-once inspect <consumer> <id>` tells the key of an ID. @defaultValue false
   */
  readonly logIds?: boolean
  /** Gets every outcome and every event. Must not throw, must not block. */
  readonly observe?: Observer
  /** Replaces consumer group or queue, origin topic and name in the keys. Set it before a group is renamed or replayed. */
  readonly scope?: string
}

export type ConsumerOptions<Decoded, Payload, Tx> = ConsumerSettings<Decoded, Payload, Tx> & Handling<Payload, Tx>
