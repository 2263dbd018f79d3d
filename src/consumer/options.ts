import type { DurationMs } from '../core/units.ts'
import type { Decode, StandardSchema } from './decode.ts'
import type { ConflictPolicy, IdentityOption } from '../identity/identities.ts'
import type { IdExtractor } from '../identity/message-id.ts'
import type { Logger } from '../ports/logger.ts'
import type { Message } from '../ports/message.ts'
import type { Observer } from '../ports/observer.ts'
import type { Tracing } from '../ports/tracing.ts'
import type { Store } from '../ports/store.ts'
import type { OutgoingMessage } from '../ports/outbox.ts'
import type { Skipped } from './skipped.ts'
import type { FormerNames } from './former-names.ts'
import type { LimitOptions } from './limit.ts'
import type { WhenBusy } from './when-busy.ts'

/** The argument of every handler. */
interface HandlerContextBase<Payload> {
  readonly message: Message
  /** The decoded payload. With a `payloadSchema`, it has passed the check and has the schema's output type. */
  readonly payload: Payload
  /**
   * Aborts when the handler exceeds `handlerTimeoutMs` or the stop deadline passes. Under a lease it also aborts when
   * the lease is lost, or when the partition is revoked or the channel closes. In a transaction (inbox, `offsets`) a
   * revoked partition or a closed channel does not abort the handler: it can still commit.
   */
  readonly signal: AbortSignal
  /**
   * 43 characters, the same in every attempt. Pass it to a provider that deduplicates requests. It contains no personal
   * data.
   */
  readonly idempotencyKey: string
  /** Number of this attempt, from 1. The store counts it durably before the handler starts. */
  readonly attempt: number
  readonly log: Logger
  /**
   * Writes a message into the outbox of the store: the COMMIT of this transaction commits it too, and a relay publishes it
   * after that, at least once, under the same ID each time. Resolves with the ID: the `idempotencyKey` and the number of
   * the call, unless the message names one. Sends nothing by itself.
   *
   * @throws ConfigError for a message that cannot be sent
   * @throws TerminalError if the store has no outbox (`postgresInbox({ pool, outbox })`)
   * @throws TransactionError `TRANSACTION_OVER` after the handler has ended
   */
  readonly publish: (message: OutgoingMessage) => Promise<string>
  /**
   * Ends the handler without an effect: `return ctx.skip('late created')`. The message is marked and settled with the
   * outcome `skipped`; later deliveries of it are duplicates. What the handler wrote through `ctx.tx` commits all the
   * same. Without the `return` it does nothing.
   *
   * @param reason - for the event and the log line, cut at 200 characters and redacted as the text of an error is. It is
   * no label of a metric.
   * @throws TypeError for an empty reason
   */
  readonly skip: (reason: string) => Skipped
  /**
   * Ends the handler by a `RetryLaterError`: the message runs again at that time and not before, in the same attempt.
   * Nothing of this run is kept.
   *
   * @throws RetryLaterError always; ConfigError for a date that is none
   */
  readonly retryAt: (at: Date) => never
}

/** The field that the strategy of the store adds: a transaction (inbox) or a fence (lease), never both. */
export type StrategyContext<Tx> = [Tx] extends [never]
  ? {
      /**
       * Grows with each claim of the message while its record lives. Pass it to a system that can refuse a smaller
       * number. It starts again at 1 after the store lost the record or its retention ended.
       */
      readonly fence: number
    }
  : {
      /** The transaction in which the mark is written. Its queries are refused after the handler ends or is aborted. */
      readonly tx: Tx
    }

export type HandlerContext<Payload, Tx = never> = HandlerContextBase<Payload> & StrategyContext<Tx>

type BatchItemFence<Tx> = [Tx] extends [never] ? { readonly fence: number } : unknown

/** One message of a batch. */
export type BatchItem<Payload, Tx = never> = Omit<HandlerContextBase<Payload>, 'signal' | 'log' | 'skip' | 'retryAt'> &
  BatchItemFence<Tx>

export type BatchContext<Payload, Tx = never> = {
  /** The messages of the batch, without duplicates, in the order of their lanes. */
  readonly messages: readonly BatchItem<Payload, Tx>[]
  readonly signal: AbortSignal
  readonly log: Logger
} & ([Tx] extends [never] ? unknown : { readonly tx: Tx })

/** The user's handler, for one message or for a batch. Give exactly one of the two. */
export type Handling<Payload, Tx> =
  | {
      /**
       * Handles one message. When it throws before `signal` aborts, the library assumes that nothing happened and tries
       * again. Throw `OutcomeUnknownError` if the effect may have happened, `NoEffectError` if an aborted handler
       * surely had no effect, and `TerminalError` if another attempt cannot help.
       */
      readonly handle: (context: HandlerContext<Payload, Tx>) => unknown
      readonly handleBatch?: never
    }
  | {
      /**
       * Handles many messages in one call. With an inbox this is the fastest form: one transaction for the whole batch.
       * If it throws, each message runs again alone. Under a lease the whole batch is in doubt when the process dies.
       * If some effects may have happened, throw `OutcomeUnknownError`: after any other error the library assumes that
       * none of them happened.
       */
      readonly handleBatch: (context: BatchContext<Payload, Tx>) => unknown
      readonly handle?: never
      /** A return value or an error of a batch belongs to no single message, so neither can be remembered. */
      readonly rememberResult?: false
      readonly rememberFailure?: never
    }

/** The answer of an `onInDoubt` function: did the effect of this message happen? */
export type Reconciled = 'happened' | 'did-not-happen' | 'unknown'

/** Where the transaction is `unknown`, the store may be one of any strategy. */
type OpensTransaction<Tx> = [Tx] extends [never] ? false : unknown extends Tx ? false : true

/** No value has this type: it shows why an option does not go with the store. */
interface LeaveOut<Why extends string> {
  readonly [WHY]: Why
}

declare const WHY: unique symbol

export interface SealResult {
  seal(text: string, key: string): string
  /** @throws if no known secret opens `sealed` */
  open(sealed: string, key: string): string
}

export interface ConsumerSettings<Decoded, Payload, Tx> {
  /**
   * Name of the consumer, part of the scope and so of every key: under another name all messages count as new. 1 to 200
   * characters, not blank, without control characters and direction marks.
   */
  readonly name: string
  /** The store that keeps the records. */
  readonly store: Store<Tx>
  /**
   * Extracts the message ID. With several a message is a duplicate if it has any ID of an earlier one; all of its keys
   * are claimed and marked together, and the first ID that it has names it (`ctx.idempotencyKey`). Only append to the
   * list: the place of an identity is part of its keys. Not allowed with a store of strategy `offsets`, which identifies
   * a message by its partition and offset.
   * @defaultValue `standardId()`: the first of the usual places that has an ID
   */
  readonly id?: IdExtractor<Decoded> | readonly [IdentityOption<Decoded>, ...IdentityOption<Decoded>[]]
  /**
   * Decodes the raw bytes of the payload. It may return a promise. It runs after the claim, and again when an ID extractor
   * reads `payload`, before the claim. @defaultValue `json()`
   */
  readonly decode?: Decode<Decoded>
  /**
   * A Standard Schema (zod, valibot, arktype, ...) that checks and types the payload. A message that fails it is given
   * up and dead-lettered. It may answer by a promise, under the same rules as `decode`.
   */
  readonly payloadSchema?: StandardSchema<Decoded, Payload>
  /**
   * Lease only. The number of messages that can be claimed at once, whether they are handled one by one or in batches.
   * It is also the most that a crash can repeat. An inbox uses `transactions` instead.
   * @defaultValue 64
   */
  readonly concurrency?: number
  /** Inbox only. The number of transactions open at once, each on its own connection. @defaultValue 4 */
  readonly transactions?: number
  /**
   * The most messages that share a transaction or a `handleBatch` call. With `handle`, messages spread over idle
   * transactions first, and share one only as far as their handlers are quick: a transaction ends at the next handler
   * once it has been open for 20 times what its claim and its commit take, 100 ms to 1 s. When a handler fails, its transaction is rolled back; the failed message runs again
   * alone, and those handled before it once more without it. A batch of `handleBatch` that fails runs again in smaller
   * ones. @defaultValue 100, with `handleBatch` 500, with `maxAttempts: 1` 1
   */
  readonly batchSize?: number
  /**
   * The most deliveries of one Kafka partition, or of one queue, that are in flight. At the limit the partition or
   * queue is paused until half of them are left; messages that the broker has sent already wait as raw bytes. The limit
   * must leave enough distinct keys to keep all handlers busy. A higher limit costs memory and garbage collection time.
   * @defaultValue twice the number of messages that can be claimed at once (`concurrency` of a lease, `transactions` x
   * `batchSize` of an inbox), at least 500
   */
  readonly maxInFlight?: number
  /**
   * How long a claim holds without renewal, in milliseconds. A shorter lease frees the messages of a dead process
   * sooner, but a long pause of the process, or of its connection to the store, then loses the claim. `ctx.signal`
   * aborts before the lease ends, by a tenth of `leaseMs` and at most one second.
   * @defaultValue 30000
   */
  readonly leaseMs?: DurationMs
  /**
   * How often the leases of running handlers are renewed, in milliseconds, in one call for all. Must be less than
   * `leaseMs` minus the margin at its end.
   * @defaultValue a third of `leaseMs`
   */
  readonly renewEveryMs?: DurationMs
  /**
   * How long a `done` record is kept, in milliseconds. It must outlast every redelivery of the broker
   * (`suggestRetention()` computes it), and an attempt plus the delay after it.
   * @defaultValue 7 days
   */
  readonly retentionMs?: DurationMs
  /**
   * Lease only. `observe`: every message runs, nothing is dropped, parked or dead-lettered, and no message waits for the
   * store: the records are written beside the handlers. `consume-once report` says what `enforce` would have done. A
   * failed message is tried again in its lane without end. A later start with `enforce` uses the records.
   * @defaultValue `enforce`
   */
  readonly mode?: 'enforce' | 'observe'
  /**
   * Lease only. What happens while the store does not answer. `pause`: nothing runs until it answers. `run-unprotected`:
   * messages run without a claim, so a message that was handled before runs again; each such run is counted
   * (`consume_once_unprotected_runs_total`), logged and told as an event. Its record is written
   * when the store is back. Attempts are not counted meanwhile, and nothing is dead-lettered or parked.
   * @defaultValue `pause`
   */
  readonly onStoreDown?: 'pause' | 'run-unprotected'
  /**
   * Holds the consumer when nothing but final failures comes through: after 50 messages in a row that were dead-lettered
   * or parked (no usable ID, undecodable, refused by the schema, conflict, `TerminalError`, attempts used up) and none
   * that was handled. A wrong `id`, a wrong `decode` or a bad deploy would otherwise empty the topic into the dead
   * letters. What runs at that moment may still end well; what fails after it goes back to its place, with its attempt.
   *
   * While it holds, `health()` is not ready and says why (`checks.hold`), and all messages stay where they are. One is let
   * through after 1 s, 2 s, 4 s, up to every 60 s, and ends as it would without the hold. The first one that is handled
   * ends the hold at once, and so does `resume()`. A restart begins to count again. Duplicates and what a claim finds
   * parked count for neither side. Does nothing in mode `observe`, which dead-letters nothing.
   * @defaultValue true
   */
  readonly hold?: boolean
  /**
   * What a message does while another process runs it, or waits before its next attempt. No attempt is spent. `wait`: it
   * waits in its lane until the other has ended or its lease is over, and holds up only messages of its own key.
   * `hand-back`: it goes to a retry place at once, delayed until the other's lease is over, and gives up the order of
   * its key. `{ waitMs }`: it waits in its lane for at most so many milliseconds, and is then handed back. The last two
   * need a source with retry places: a start without one fails with `CONFIG_INVALID`.
   * @defaultValue `{ waitMs: 2000 }` where RabbitMQ has `retry`, otherwise `wait`
   */
  readonly whenBusy?: WhenBusy
  /**
   * Decides about a message that has no record and whose timestamp is older than `retentionMs` (less a clock margin of
   * up to a minute): it may have been handled and its record removed since. `run` runs it. `park` sets it aside for a
   * person with the reason `beyond-retention`. `skip` assumes that it was handled: it is marked without a run and
   * settled as a duplicate, so a message that was never handled is lost. A message without a timestamp always runs. Not
   * allowed with a store of strategy `offsets`, which never removes its positions.
   * @defaultValue `run`, with an observer event
   */
  readonly onBeyondRetention?: 'run' | 'park' | 'skip'
  /**
   * Removes records whose retention has ended, for stores that do not expire them on their own: in batches, every 10
   * minutes, and not within 5 minutes after a start or a rebalance.
   * @defaultValue `background`
   */
  readonly purge?: 'background' | 'never'
  /**
   * How long a handler may run, in milliseconds. A handler that exceeds it is aborted, and its message is in doubt.
   * @defaultValue 60000
   */
  readonly handlerTimeoutMs?: DurationMs
  /**
   * How long an aborted handler may take to end, in milliseconds. After that it counts as stuck, and `health().live` is
   * false.
   * @defaultValue 5000
   */
  readonly graceMs?: DurationMs
  /**
   * The most attempts before a message is set aside and dead-lettered. The store counts every start of the handler,
   * including one that ended with its process or at the deadline of `stop()`. An attempt whose handler never began is
   * given back. After a crash the interrupted messages run again in smaller batches, and a message in its last attempt
   * runs alone: with 2 attempts each interrupted message runs alone. With 1 attempt no message may share a batch
   * (`batchSize: 1`): a crash would spend the attempt of messages whose handler never began.
   * @defaultValue 5
   */
  readonly maxAttempts?: number
  /**
   * How fast handlers begin, for a provider that allows so many calls a second: `{ perSecond: 20, by: tenantOf }`. A
   * message beyond it waits before its claim (`health().limited`, `checks.limit`), in the bounds of `maxInFlight`.
   * @defaultValue none
   */
  readonly limit?: LimitOptions
  /**
   * How often in a row a message may be put off by a `RetryLaterError` without spending an attempt. After that each one
   * counts as a failed attempt, which waits as long as it asks to. Counted in this process: a restart or a rebalance begins
   * again. 0: never.
   * @defaultValue 20
   */
  readonly maxRetryLater?: number
  /** The delay between attempts: exponential with jitter, in the lane of the message. @defaultValue 200 ms to 30 s */
  readonly backoff?: {
    /** The first delay. @defaultValue 200 */
    readonly initialMs?: DurationMs
    /** The longest delay. @defaultValue 30000 */
    readonly maxMs?: DurationMs
  }
  /**
   * What happens to a message with the ID of another one and a different payload. `duplicate` does not compare
   * payloads: use it when a re-send may differ from the original. `{ compare: ['/amount', '/currency'] }` compares only
   * these parts of a JSON payload, by JSON Pointers (RFC 6901; `*` is any member or element), and dead-letters what
   * differs in them, or has none of them.
   * @defaultValue `dead-letter`; with `messageId.fingerprint()` `duplicate`
   */
  readonly onConflict?: ConflictPolicy
  /**
   * Lease only: in a transaction, effect and mark are one. Decides about a message whose effect may have happened: run it
   * again, park it for a person, or call your function.
   * @defaultValue `rerun`
   */
  readonly onInDoubt?: OpensTransaction<Tx> extends true
    ? LeaveOut<'effect and mark are one transaction: nothing is ever in doubt'>
    : 'rerun' | 'park' | ((message: Message, idempotencyKey: string) => Reconciled | Promise<Reconciled>)
  /**
   * Keeps the return value of `handle` with the mark, as JSON, and hands it to every duplicate (`Settlement.result`).
   * `undefined`, `null` and the empty string are results too. A value that cannot be kept fails with `RESULT_NOT_KEPT`.
   * Not allowed with `handleBatch` or strategy `offsets`.
   * @defaultValue false
   */
  readonly rememberResult?: boolean
  /**
   * The largest result, in bytes of UTF-8 JSON, or of the text that `sealResult` returned. At most 1048576.
   * @defaultValue 16384
   */
  readonly maxResultBytes?: number
  /**
   * Returns true for a failure that is the final answer, such as a declined payment. The message is then marked done
   * with the name, message and code of the error, and settled; every duplicate gets the same failure
   * (`Settlement.failure`). With an inbox the writes of the handler are rolled back. The function is not called after
   * an abort or an `OutcomeUnknownError`; a message in doubt is parked instead. Any other return value, a promise, or
   * an exception counts as false. Not allowed with `handleBatch` or strategy `offsets`.
   * @defaultValue none
   */
  readonly rememberFailure?: (error: unknown) => boolean
  /**
   * Encrypts results and failures before they are stored with the mark, and decrypts them for duplicates. `key` is the
   * key of the record and the same in both calls: bind it as associated data, so that nobody can swap the results of
   * two records. When `seal` throws, a result fails with `RESULT_NOT_KEPT` and a failure is not remembered. When `open`
   * throws, duplicates get `RESULT_UNREADABLE`.
   * @defaultValue stored as plain text
   */
  readonly sealResult?: SealResult
  /**
   * Any logger with the interface of pino. It gets no payload, and no raw ID unless `logIds` is set.
   * @defaultValue none
   */
  readonly log?: Logger
  /**
   * Logs the raw message ID (`id`) beside its key. An ID is often a phone number or an address, and the log then holds
   * personal data. The key alone finds a record, and `consume-once inspect <consumer> <id>` prints the key of an ID.
   * @defaultValue false
   */
  readonly logIds?: boolean
  /**
   * Gets every outcome and every event, or several functions that do. Events of the broker's side have `type: 'source'` and
   * their name in `event`, such as `offset-reset`. It must not throw and must not block. Without it and without `log`,
   * no event is made.
   * @defaultValue none
   */
  readonly observe?: Observer | readonly Observer[]
  /**
   * Makes spans: `otelTracing()` of `consume-once/otel`. The mark of a message then also keeps the trace of its run, if
   * that is sampled, and the span of a duplicate links to it.
   * @defaultValue none
   */
  readonly trace?: Tracing
  /**
   * Text replaces consumer group or queue, origin topic and name in the keys: set it on the first day, or not at all. An
   * object has former names, so that a rename keeps every key: `{ name, group, topics }`, or `{ name, queue }` on RabbitMQ.
   */
  readonly scope?: string | FormerNames
}

export type ConsumerOptions<Decoded, Payload, Tx> = ConsumerSettings<Decoded, Payload, Tx> & Handling<Payload, Tx>
