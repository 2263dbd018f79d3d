import type { Moment } from './moment.ts'

/** The fault that is injected when the target reaches the moment `at`. */
export type Fault =
  /** SIGKILL of the worker. The request in flight arrives at its server, or is lost. */
  | {
      readonly kind: 'kill'
      readonly at: Moment
      readonly request: 'arrives' | 'is lost'
      /** Time until the next worker starts. @defaultValue 0 */
      readonly awayMs?: number
    }
  /** SIGSTOP for longer than the lease. The request in flight arrives before the pause, or after it. */
  | { readonly kind: 'freeze'; readonly at: Moment; readonly request: 'arrives' | 'is held' }
  /** The connection breaks before the bytes of the moment arrive. */
  | { readonly kind: 'lose'; readonly at: Moment }
  /** The connection carries nothing for a while without an error, and then breaks. */
  | { readonly kind: 'swallow'; readonly at: Moment }
  /** All connections of the worker to the broker break; with `again`, this many times more. */
  | { readonly kind: 'close-channel'; readonly at: Moment; readonly again?: { times: number; everyMs: number } }
  /** The worker cannot reach its store, without an error, for longer than the lease. The broker stays reachable. */
  | { readonly kind: 'cut-off-store'; readonly at: Moment }
  /** One member cannot reach its store, or its broker, any more, without an error. It never heals: the others take over. */
  | { readonly kind: 'cut-off-for-good'; readonly from: 'store' | 'broker'; readonly at: Moment }
  /** The worker is told to stop, and the bytes of the moment wait until it has heard that. Another one is started. */
  | { readonly kind: 'stop'; readonly at: Moment }
  /** The worker is told to stop when one of its handlers asks for it. Another one is started. */
  | { readonly kind: 'stop-when-asked' }
  /** The broker refuses the commit: the proxy changes its partition to one that does not exist. */
  | { readonly kind: 'refuse-commit'; readonly at: 'settle sent' }
  /** Another consumer joins the group, or consumes from the queue. `storm`: three join and leave again. */
  | { readonly kind: 'rebalance'; readonly at: Moment; readonly guests: 'stays' | 'storm' }
  | ServerFault
  /** Nothing is injected: the message itself, or the clock of the worker, is the fault. */
  | { readonly kind: 'none' }

/** A fault of a server that the cell does not share. */
export type ServerFault =
  /** Redis does not answer for twice the lease. */
  | { readonly kind: 'freeze-redis'; readonly at: Moment }
  /** Redis loses all its data: by a kill and an empty restart, or by FLUSHALL. */
  | (WorkerAfterwards & { readonly kind: 'lose-records'; readonly at: Moment; readonly how: 'emptied' | 'flushed' })
  /** The record becomes unreadable for the store before the bytes of the moment go on. */
  | { readonly kind: 'spoil-record'; readonly at: 'delivered' | 'claim sent'; readonly how: Spoilt }
  /**
   * Redis is killed, and a replica is promoted that lacks all writes from `lagsFrom` on. Without `lagsFrom` the replica has every
   * write that the worker waited for.
   */
  | (WorkerAfterwards & { readonly kind: 'promote-redis'; readonly lagsFrom?: Moment; readonly at: Moment })
  /** The broker stops, and starts again on its data. */
  | { readonly kind: 'restart-broker'; readonly at: Moment }
  /** The second topic of the worker is deleted. */
  | { readonly kind: 'delete-topic'; readonly at: Moment }
  /**
   * The topic is deleted and created again. When the worker has reported that, and more was sent than the old topic held, the worker
   * is killed and replaced. When its successor has reported it too, a person releases the partition.
   */
  | { readonly kind: 'recreate-topic'; readonly at: Moment }
  /** The first worker cannot reach its store from its start until some time after the moment. */
  | { readonly kind: 'store-away'; readonly at: 'delivered' }
  /** An administrator ends all connections of the worker to Postgres before the bytes of the moment go on. */
  | { readonly kind: 'terminate-backends'; readonly at: Moment }
  /** Postgres shuts down at once, and starts again on its data. */
  | { readonly kind: 'restart-postgres'; readonly at: Moment }
  /** As `promote-redis`, with Postgres. */
  | (WorkerAfterwards & { readonly kind: 'promote-postgres'; readonly lagsFrom: Moment; readonly at: Moment })

/** `other-type`: a key of another type. `cut-off`: part of a record. `newer`: a state that no version knows. */
export type Spoilt = 'other-type' | 'cut-off' | 'newer'

/** What happens to the worker. `is killed`: in the same moment, so that the broker redelivers what it has not settled. */
export interface WorkerAfterwards {
  readonly worker: 'stays' | 'is killed'
}
