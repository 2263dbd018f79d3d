import type { Moment } from './moment.ts'

/** What is done when the moment of the first message is seen. */
export type Fault =
  /** SIGKILL. What was on its way to a server arrives, or does not. */
  | {
      readonly kind: 'kill'
      readonly at: Moment
      readonly request: 'arrives' | 'is lost'
      /** Until the next one is started. @defaultValue 0 */
      readonly awayMs?: number
    }
  /** SIGSTOP for longer than the lease. What was on its way arrives before the pause, or after it. */
  | { readonly kind: 'freeze'; readonly at: Moment; readonly request: 'arrives' | 'is held' }
  /** The connection is lost, and these bytes with it. */
  | { readonly kind: 'lose'; readonly at: Moment }
  /** Nothing comes through that connection for a while, and nothing says so; then it is lost. */
  | { readonly kind: 'swallow'; readonly at: Moment }
  /** All connections of the worker to the broker are lost; with `again`, so many times more. */
  | { readonly kind: 'close-channel'; readonly at: Moment; readonly again?: { times: number; everyMs: number } }
  /** Nothing comes through between the worker and its store, and nothing says so, for longer than the lease. The broker stays reachable. */
  | { readonly kind: 'cut-off-store'; readonly at: Moment }
  /** The broker refuses the commit: on its way it was made one of a partition that does not exist. */
  | { readonly kind: 'refuse-commit'; readonly at: 'settle sent' }
  /** Another member joins the group, or takes from the queue. `storm`: three do, and leave again. */
  | { readonly kind: 'rebalance'; readonly at: Moment; readonly guests: 'stays' | 'storm' }
  | ServerFault
  /** Nothing from outside: the message itself, or the worker's clock, is the fault. */
  | { readonly kind: 'none' }

/** What is done to a server; the cell has it for itself. */
export type ServerFault =
  /** Redis answers nothing for twice the lease. */
  | { readonly kind: 'freeze-redis'; readonly at: Moment }
  /** Redis loses all it holds: it is killed and starts with nothing, or somebody flushes it. */
  | (WorkerAfterwards & { readonly kind: 'lose-records'; readonly at: Moment; readonly how: 'emptied' | 'flushed' })
  /** Before the bytes of the moment go on, the record becomes one that the store cannot read. */
  | { readonly kind: 'spoil-record'; readonly at: 'delivered' | 'claim sent'; readonly how: Spoilt }
  /**
   * Redis is killed, and a replica promoted that has nothing of what was written from `lagsFrom` on; without it, the replica has all
   * that was waited for.
   */
  | (WorkerAfterwards & { readonly kind: 'promote-redis'; readonly lagsFrom?: Moment; readonly at: Moment })
  /** The broker is gone, and starts again on its data. */
  | { readonly kind: 'restart-broker'; readonly at: Moment }
  /** The topic that the worker consumes beside is deleted. */
  | { readonly kind: 'delete-topic'; readonly at: Moment }
  /**
   * The topic is deleted and created anew. When the worker has seen that, and more was sent than the old topic held, the worker is killed
   * and replaced; when the next one has seen it too, a person lets the partition begin anew.
   */
  | { readonly kind: 'recreate-topic'; readonly at: Moment }
  /** The first worker cannot reach its store from its start until some time after the moment. */
  | { readonly kind: 'store-away'; readonly at: 'delivered' }
  /** All connections of the worker to Postgres are ended by an administrator, before what was on its way goes on. */
  | { readonly kind: 'terminate-backends'; readonly at: Moment }
  /** An immediate shutdown of Postgres, which then starts again on its data. */
  | { readonly kind: 'restart-postgres'; readonly at: Moment }
  /** As `promote-redis`. */
  | (WorkerAfterwards & { readonly kind: 'promote-postgres'; readonly lagsFrom: Moment; readonly at: Moment })

/** `other-type`: a key of another type. `cut-off`: a part of a record. `newer`: a state that no version knows yet. */
export type Spoilt = 'other-type' | 'cut-off' | 'newer'

/** What becomes of the worker. `is killed`: in the same moment, so that what it has not settled comes again. */
export interface WorkerAfterwards {
  readonly worker: 'stays' | 'is killed'
}
