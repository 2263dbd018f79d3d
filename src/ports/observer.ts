import type { BeyondRetentionPolicy, InDoubtPolicy } from '../core/decision.ts'
import type { Key, Reason, Result } from '../core/record.ts'
import type { DurationMs, EpochMs } from '../core/units.ts'
import type { Message } from './message.ts'
import type { HandedBack, Outcome } from './outcome.ts'
import type { SourceEvent } from './source.ts'

/** Events for an observer. The observer must not throw and must not block. */
export type ObserverEvent =
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
      /** With `dead-lettered` and `parked`: the detail in the dead letter. */
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
      readonly message: Message
    }
  /** A handler failed and its claim was released. The message is tried again, in its lane or from a retry place. */
  | {
      readonly type: 'attempt-failed'
      readonly key: Key
      readonly message: Message
      readonly attempt: number
      readonly error: unknown
      readonly retryInMs: DurationMs
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
      readonly policy: 'rememberFailure' | 'sealResult'
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
  /** The handler is past its timeout and ignores `signal`. */
  | { readonly type: 'stuck'; readonly key: Key; readonly message: Message; readonly attempt: number }
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
  | { readonly type: 'store-down'; readonly error: unknown }
  | { readonly type: 'store-up' }
  | SourceEvent

export type Observer = (event: ObserverEvent) => void
