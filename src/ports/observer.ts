import type { Key, Reason } from '../core/record.ts'
import type { DurationMs } from '../core/units.ts'
import type { Message } from './message.ts'
import type { SourceEvent } from './source.ts'

/** How one delivery ended. Exactly one per delivery; the words of metrics, logs and dashboards. */
export type Outcome =
  | 'handled'
  | 'duplicate'
  | 'joined'
  | 'handed-back'
  | 'failed'
  | 'settle-refused'
  | 'dead-lettered'
  | 'parked'
  | 'lease-lost'

/** What the library tells an observer. The observer must not throw and must not block. */
export type ObserverEvent =
  | {
      readonly type: 'delivery'
      readonly outcome: Outcome
      /** What it would have been, had the settle not been refused. */
      readonly refused?: Exclude<Outcome, 'settle-refused'> | undefined
      readonly reason?: Reason | undefined
      readonly key?: Key | undefined
      readonly attempt?: number | undefined
      readonly fence?: number | undefined
      readonly message: Message
    }
  /** A handler failed and its claim was released; it will be tried again, in its lane or from a retry place. */
  | {
      readonly type: 'attempt-failed'
      readonly key: Key
      readonly attempt: number
      readonly error: unknown
      readonly retryInMs: DurationMs
    }
  | { readonly type: 'in-doubt'; readonly key: Key; readonly message: Message }
  | { readonly type: 'claims'; readonly count: number; readonly granted: number }
  | { readonly type: 'marks'; readonly count: number; readonly late: number }
  | { readonly type: 'lease-lost'; readonly key: Key }
  | { readonly type: 'stuck'; readonly key: Key }
  | {
      readonly type: 'publish-failed'
      readonly place: 'dead-letter' | 'retry'
      readonly key: Key | undefined
      readonly error: unknown
      readonly retryInMs: DurationMs
    }
  | { readonly type: 'store-down'; readonly error: unknown }
  | { readonly type: 'store-up' }
  | SourceEvent

export type Observer = (event: ObserverEvent) => void
