import type { BeyondRetentionPolicy, InDoubtPolicy } from '../core/after-claim.ts'
import type { HandlerResult } from '../core/after-run.ts'
import type { ObservedExample, ObservedVerdict } from '../core/observed.ts'
import type { Stall } from '../core/progress.ts'
import type { Key, Reason, Result } from '../core/record.ts'
import type { DurationMs, EpochMs } from '../core/units.ts'
import type { Message } from './message.ts'
import type { HandedBack, Outcome } from './outcome.ts'
import type { Pausable, PauseOptions } from './lifecycle.ts'
import type { Health } from './health.ts'
import type { Backlog, SourceEvent } from './source.ts'
import type { Store } from './store.ts'

/** How long the steps before its settle took a message, in milliseconds; `undefined`: it did not come to this step. */
export interface StepDurations {
  /** From its arrival in this process to the claim that was answered last. */
  readonly waitMs: DurationMs | undefined
  /** The call of the store that claimed it, which is shared with other messages. */
  readonly claimMs: DurationMs | undefined
  /** The last run of its handler, which a batch shares. */
  readonly handlerMs: DurationMs | undefined
  /** The call of the store that marked it; with an inbox, the COMMIT. */
  readonly markMs: DurationMs | undefined
}

/** How long the steps of a message took, in milliseconds; `undefined`: it did not come to this step. */
export interface Durations extends StepDurations {
  /**
   * From the decision how it ends to the settle, which a copy has to be confirmed for. A Kafka commit and a RabbitMQ
   * ack go out after the settle, for many messages at once: see `settles`.
   */
  readonly settleMs: DurationMs | undefined
  /** From its arrival in this process to its end. */
  readonly totalMs: DurationMs
}

/** A message that ended without its effect. */
export interface FailureTold {
  readonly reason: Reason
  /** The detail in its dead letter. No payload, no raw ID. */
  readonly detail: string
  readonly destination: string
  readonly position: string
}

/** The methods of a store that `store-call` names. */
export type StoreOperation =
  | 'open'
  | 'claim'
  | 'renew'
  | 'mark'
  | 'release'
  | 'setAside'
  | 'pass'
  | 'positions'
  | 'peek'

/** An event, and the name of the consumer to which it happened. */
export type ObserverEvent = PipelineEvent & { readonly consumer: string }

/** Gets every event. It must not throw and must not block. */
export type Observer = (event: ObserverEvent) => void

/** What counts for one consumer. No event is made for what it is called for. It must not throw and must not block. */
export interface Counts {
  /** In place of a `delivery` event with outcome `handled`. `steps` and `endToEndMs` are `undefined` as they are there. */
  handled(message: Message, steps: StepDurations | undefined, endToEndMs: DurationMs | undefined): void
  /** How long the settles of handled messages took. One call may be for many messages. */
  settled(durationMs: DurationMs): void
  /** In place of a `handler-run` event. */
  ran(result: HandlerResult, durationMs: DurationMs): void
  /** In place of a `store-call` event. */
  called(operation: StoreOperation, count: number, durationMs: DurationMs, error: unknown): void
}

/**
 * An observer that only counts. For what happens with every message it gets calls with numbers in place of events; all
 * other events it gets as any observer does. While nobody else listens to events of every message, none are made.
 */
export interface CountingObserver extends Observer {
  /** Called once for each run of a consumer. */
  countsOf(consumer: string): Counts
}

/** The events as the pipeline tells them. */
export type PipelineEvent =
  /**
   * The consumer was started; it has not joined yet. What it gives can be read until `stopped`, for gauges: read them
   * when they are scraped.
   */
  | {
      readonly type: 'started'
      readonly group: string
      /** Its scope in the store. */
      readonly scope: string
      readonly store: Store<unknown>
      readonly retentionMs: DurationMs
      readonly leaseMs: DurationMs
      readonly health: () => Health
      /**
       * Asks the store whether it answers, unless it has just done so. `health()` says what came of it. `isDoubtful`: ask
       * in any case. May take as long as a call of the store; never rejects.
       */
      readonly checkStore?: ((isDoubtful?: boolean) => Promise<void>) | undefined
      /** What waits at the broker for all processes of the consumer. `undefined`: its source cannot tell. */
      readonly backlog?: (() => Promise<readonly Backlog[]>) | undefined
      /** `undefined`: it has no intake that could be paused. */
      readonly control?: Pausable | undefined
    }
  | { readonly type: 'stopped' }
  /** A person has paused or resumed the consumer in this process. */
  | ({ readonly type: 'paused' | 'resumed' } & PauseOptions)
  | {
      readonly type: 'delivery'
      readonly outcome: Outcome
      /** With `settle-refused`: the outcome that the delivery would have had. */
      readonly refused?: Exclude<Outcome, 'settle-refused'> | undefined
      /** With `handed-back`. */
      readonly why?: HandedBack | undefined
      /** With `joined`, refused or not: how the message ended that this delivery had joined. */
      readonly endedAs?: Exclude<Outcome, 'joined' | 'settle-refused' | 'lease-lost'> | undefined
      /** With `handed-back`: it is settled; a confirmed copy replaces it, or its queue delays it. */
      readonly copied?: true | undefined
      readonly reason?: Reason | undefined
      /** With `dead-lettered` and `parked`: the detail in the dead letter. With `skipped`: the reason of `ctx.skip`. */
      readonly detail?: string | undefined
      /** With `dead-lettered` and `parked`: the last error, if this process has it. May contain a payload. */
      readonly error?: unknown
      readonly key?: Key | undefined
      /** With `dead-lettered` and `parked`: how often its handler started, as in the dead letter. */
      readonly attempt?: number | undefined
      /**
       * With `dead-lettered` and `parked`: when its record was set aside, by this delivery or an earlier one. With
       * `duplicate`: when its record was marked, by the clock of the store; `undefined` if the store cannot tell, or if
       * this delivery was marked without a run.
       */
      readonly since?: EpochMs | undefined
      readonly fence?: number | undefined
      /**
       * With `handled` and `duplicate`: the result kept with the mark, decrypted, for `readResult()`. May contain a
       * payload.
       */
      readonly result?: Result | undefined
      /** With `result`: the result is a failure that was remembered as the answer. */
      readonly failure?: true | undefined
      /** The W3C `traceparent` of its span, if the consumer is traced and the span is sampled. */
      readonly trace?: string | undefined
      /** With `duplicate`: the `traceparent` of the run that had the effect, if that was traced and sampled. */
      readonly firstTrace?: string | undefined
      readonly message: Message
      /** `undefined`: it had joined another delivery, or it has no usable ID. */
      readonly durations?: Durations | undefined
      /**
       * From the timestamp of the message to the end of this delivery, in milliseconds. Both are wall clocks, of two
       * machines: 0 if the timestamp is in the future. `undefined`: it has no timestamp.
       */
      readonly endToEndMs?: DurationMs | undefined
    }
  /** A run of the handler has ended: of one message, or of a batch. */
  | {
      readonly type: 'handler-run'
      readonly result: HandlerResult
      /** Messages of the run. */
      readonly count: number
      readonly durationMs: DurationMs
    }
  /** One call of the store has ended. Calls that failed are repeated; each is told. */
  | {
      readonly type: 'store-call'
      readonly operation: StoreOperation
      /** Messages of the call. */
      readonly count: number
      readonly durationMs: DurationMs
      /** It failed: its answer is unknown. */
      readonly error?: unknown
    }
  /** A handler failed and its claim was released. The message is tried again, in its lane or from a retry place. */
  | {
      readonly type: 'attempt-failed'
      readonly key: Key
      readonly message: Message
      readonly attempt: number
      readonly error: unknown
      readonly retryInMs: DurationMs
      /** As in `delivery`. */
      readonly trace?: string | undefined
    }
  /**
   * The handler threw `RetryLaterError`, and its claim was released. The message runs again in `retryInMs`, in the same
   * attempt, the `times`th time in a row.
   */
  | {
      readonly type: 'put-off'
      readonly key: Key
      readonly message: Message
      readonly attempt: number
      readonly times: number
      readonly error: unknown
      readonly retryInMs: DurationMs
      /** As in `delivery`. */
      readonly trace?: string | undefined
    }
  | {
      readonly type: 'in-doubt'
      readonly key: Key
      readonly message: Message
      /** Starts of its handler, including the one that left it in doubt. */
      readonly attempt: number
      /** What `onInDoubt` does: run it again, park it for a person, or call the user's function. */
      readonly policy: InDoubtPolicy
      /** The error that left it in doubt, if this process has it. */
      readonly error?: unknown
      /** As in `delivery`. */
      readonly trace?: string | undefined
    }
  /**
   * One of these messages may have killed a process: they are in doubt under a lease, or in their last attempt in an
   * inbox. They run together, and nothing else begins until they have ended or, if they have attempts left, for 2 s.
   */
  | { readonly type: 'apart'; readonly keys: readonly Key[] }
  | { readonly type: 'claims'; readonly count: number; readonly granted: number }
  | { readonly type: 'marks'; readonly count: number; readonly late: number }
  /**
   * Lease: the effect happened, but the return value of the handler cannot be kept. The message is marked, and
   * duplicates get an error instead.
   */
  | { readonly type: 'result-not-kept'; readonly key: Key; readonly message: Message; readonly error: unknown }
  /** A function in the options threw, and the library took the safe answer. */
  | {
      readonly type: 'policy-threw'
      readonly policy: 'rememberFailure' | 'sealResult' | 'limit.by'
      readonly message: Message
      readonly key: Key
      readonly error: unknown
    }
  /**
   * The claim was granted because the message has no record, but the message is older than the retention. `policy` says
   * what happened to it.
   */
  | {
      readonly type: 'beyond-retention'
      readonly key: Key
      readonly policy: BeyondRetentionPolicy
      readonly message: Message
    }
  | { readonly type: 'lease-lost'; readonly key: Key; readonly message: Message }
  /**
   * Mode `observe`: what `mode: 'enforce'` would have done with these messages, which have run. `example`: the message,
   * if it would not simply have run.
   */
  | {
      readonly type: 'observed'
      readonly verdict: ObservedVerdict
      readonly count: number
      readonly example?: ObservedExample | undefined
    }
  /**
   * `onStoreDown: 'run-unprotected'`: the store does not answer, and the handler of this message ran without a claim, ran
   * on after its lease had ended, or its message was settled before its mark.
   */
  | {
      readonly type: 'unprotected-run'
      readonly key: Key
      readonly message: Message
      readonly result: HandlerResult
      /** As in `delivery`. */
      readonly trace?: string | undefined
    }
  /**
   * Nothing but final failures came through, `failures` in a row: the consumer holds (option `hold`) and is not ready.
   * Nothing begins, except one message from time to time, the next one in `retryInMs`. `last`: the newest failures. Told
   * once; it ends with `hold-over`.
   */
  | {
      readonly type: 'holding'
      readonly failures: number
      readonly last: readonly FailureTold[]
      readonly retryInMs: DurationMs
    }
  /** `handled`: a message was handled, so all go on. `resumed`: a person said so. */
  | { readonly type: 'hold-over'; readonly heldMs: DurationMs; readonly because: 'handled' | 'resumed' }
  /**
   * A partition or queue has work, and nobody makes progress with it: none of it has ended and no handler of it has
   * started for longer than an attempt may take. Told once; it ends with `stall-over`.
   */
  | ({ readonly type: 'stalled' } & Stall)
  | { readonly type: 'stall-over'; readonly place: string }
  /** The handler is past its timeout and ignores `signal`. */
  | {
      readonly type: 'stuck'
      readonly key: Key
      readonly message: Message
      readonly attempt: number
      /** As in `delivery`. */
      readonly trace?: string | undefined
    }
  | {
      readonly type: 'publish-failed'
      readonly place: 'dead-letter' | 'retry'
      readonly key: Key | undefined
      readonly message: Message
      readonly error: unknown
      readonly retryInMs: DurationMs
    }
  /** Records were removed because their retention had ended. */
  | { readonly type: 'purged'; readonly removed: number }
  /** A purge failed. The next round removes the rest. */
  | { readonly type: 'purge-failed'; readonly error: unknown }
  | {
      readonly type: 'store-down'
      readonly error: unknown
      /** Messages go on, without a claim: mode `observe`, or `onStoreDown: 'run-unprotected'`. */
      readonly runsOn?: true
    }
  | { readonly type: 'store-up' }
  /**
   * The shared limiter of the option `limit` does not answer: nothing begins, and it is asked again with growing delays.
   * Told once; it ends with `limit-up`.
   */
  | { readonly type: 'limit-down'; readonly error: unknown }
  | { readonly type: 'limit-up' }
  /**
   * The payload of this message cannot be decoded now, because what `decode` or `schema` asks does not answer, such as a
   * schema registry. It is tried again with growing delays and no attempt counts. Told for the first message that waits;
   * it ends with `decode-up`, when none waits any more.
   */
  | { readonly type: 'decode-down'; readonly message: Message; readonly error: unknown }
  | { readonly type: 'decode-up' }
  | SourceEvent
