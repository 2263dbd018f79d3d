import type { BeyondRetentionPolicy, InDoubtPolicy } from '../core/decision.ts'
import type { Key, Reason, Result } from '../core/record.ts'
import type { DurationMs, EpochMs } from '../core/units.ts'
import type { Message } from './message.ts'
import type { SourceEvent } from './source.ts'

/** How one delivery ended. Exactly one per delivery; the words of metrics, logs and dashboards. */
export type Outcome =
  /** The handler ran and its effect is marked; settled. */
  | 'handled'
  /** It was done before; settled without a handler. */
  | 'duplicate'
  /** A further delivery of a message that was under way here: it ended, or did not, as that one did. */
  | 'joined'
  /** Not handled, and not settled: the broker delivers it again. With `copied` a retry place has it. */
  | 'handed-back'
  /** The handler failed, and a retry place has it until the next attempt: a confirmed copy, or its queue delays it; settled. */
  | 'failed'
  /** It ended as `refused` says, but its partition or channel was gone by then: it comes again, and is a duplicate if it was done. */
  | 'settle-refused'
  /** Given up, or of no use: its dead letter is confirmed; settled. */
  | 'dead-lettered'
  /** Its effect may or may not have happened: its dead letter, for a person to look at, is confirmed; settled. */
  | 'parked'
  /** Another owner took it over while its handler ran, and its partition or channel is gone; not settled. */
  | 'lease-lost'

/** Why a delivery was handed back: a label for metrics. */
export type HandedBack =
  /** Its partition or channel went elsewhere: a rebalance, a lost connection. Normal. */
  | 'moved'
  /** `stop()`: what had not begun, or did not end in time. Normal. */
  | 'stop'
  /** Another owner has had it for longer than `busyWaitMs`: a copy waits on a retry place. */
  | 'busy'
  /** Strategy `offsets`: the database is behind what was delivered, and its stream is read again from there. */
  | 'rewound'
  /** A fault of the library, told by `invariant-broken`: a settle was refused that nothing allowed. */
  | 'broken'

/** What the library tells an observer. The observer must not throw and must not block. */
export type ObserverEvent =
  | {
      readonly type: 'delivery'
      readonly outcome: Outcome
      /** What it would have been, had the settle not been refused. */
      readonly refused?: Exclude<Outcome, 'settle-refused'> | undefined
      /** With `handed-back`. */
      readonly why?: HandedBack | undefined
      /** With `joined`, also a refused one: how the message ended that it had joined. */
      readonly endedAs?: Exclude<Outcome, 'joined' | 'settle-refused' | 'lease-lost'> | undefined
      /** With `handed-back`: it is settled; a confirmed copy waits in its stead, or its queue delays it. */
      readonly copied?: true | undefined
      readonly reason?: Reason | undefined
      /** With `dead-lettered` and `parked`: what the dead letter says. */
      readonly detail?: string | undefined
      /** With `dead-lettered` and `parked`: what was thrown last, where that is known here. May hold a payload. */
      readonly error?: unknown
      readonly key?: Key | undefined
      /** With `dead-lettered` and `parked`: how often its handler was started, as its dead letter says. */
      readonly attempt?: number | undefined
      /** With `dead-lettered` and `parked`: when its record was set aside, by whichever delivery. */
      readonly since?: EpochMs | undefined
      readonly fence?: number | undefined
      /** With `handled` and `duplicate`: what is kept with the mark, opened, for `readResult()`. May hold a payload. */
      readonly result?: Result | undefined
      /** With `result`: it is a failure, remembered as the answer. */
      readonly failure?: true | undefined
      readonly message: Message
    }
  /** A handler failed and its claim was released; it will be tried again, in its lane or from a retry place. */
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
      /** Starts of its handler, the one that left it in doubt included. */
      readonly attempt: number
      /** What follows by `onInDoubt`: it runs again, is set aside for a person, or the function is asked. */
      readonly policy: InDoubtPolicy
      /** What left it in doubt, where that is known here. */
      readonly error?: unknown
    }
  /**
   * One of these may be what killed a process: in doubt under a lease, or in the last attempt of an inbox. They run together, and nothing else
   * begins beside them: until they have ended, or, where they have more attempts left, for 2 s.
   */
  | { readonly type: 'apart'; readonly keys: readonly Key[] }
  | { readonly type: 'claims'; readonly count: number; readonly granted: number }
  | { readonly type: 'marks'; readonly count: number; readonly late: number }
  /** Lease: its effect happened, and what its handler returned cannot be kept. It is marked, and duplicates are told so. */
  | { readonly type: 'result-not-kept'; readonly key: Key; readonly message: Message; readonly error: unknown }
  /** An option that is a function of the user's threw, and was taken for what is safe. */
  | {
      readonly type: 'policy-threw'
      readonly policy: 'rememberFailure' | 'sealResult'
      readonly message: Message
      readonly key: Key
      readonly error: unknown
    }
  /** Granted, because nothing is known of it; but it is older than what is still known. `policy`: what became of it. */
  | {
      readonly type: 'beyond-retention'
      readonly key: Key
      readonly policy: BeyondRetentionPolicy
      readonly message: Message
    }
  | { readonly type: 'lease-lost'; readonly key: Key; readonly message: Message }
  /** Its handler is past its timeout and deaf to `signal`. */
  | { readonly type: 'stuck'; readonly key: Key; readonly message: Message; readonly attempt: number }
  | {
      readonly type: 'publish-failed'
      readonly place: 'dead-letter' | 'retry'
      readonly key: Key | undefined
      readonly message: Message
      readonly error: unknown
      readonly retryInMs: DurationMs
    }
  /** Records whose retention had ended were removed. */
  | { readonly type: 'purged'; readonly removed: number }
  /** The rest is left to the next round. */
  | { readonly type: 'purge-failed'; readonly error: unknown }
  | { readonly type: 'store-down'; readonly error: unknown }
  | { readonly type: 'store-up' }
  | SourceEvent

export type Observer = (event: ObserverEvent) => void
