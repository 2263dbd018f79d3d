/** How one delivery ended; each delivery has exactly one outcome. Metrics, logs and dashboards use these names. */
export type Outcome =
  /** The handler ran, its effect is marked, the delivery is settled. */
  | 'handled'
  /** The handler returned `ctx.skip(reason)`. Marked and settled as if it was handled. */
  | 'skipped'
  /** The message was done before. The delivery is settled without a run of the handler. */
  | 'duplicate'
  /** A further delivery of a message that was under way in this process. It ends as that message ended. */
  | 'joined'
  /**
   * Not handled and not settled: the broker delivers it again. With `copied` it is settled and waits in a retry place.
   */
  | 'handed-back'
  /**
   * The handler failed, and the message waits in a retry place for its next attempt, as a confirmed copy or delayed by
   * its queue. Settled.
   */
  | 'failed'
  /**
   * The message ended as `refused` says, but its partition or channel was gone by then. The broker delivers it again;
   * if it was done, that delivery is a duplicate.
   */
  | 'settle-refused'
  /** The message was given up, or is unusable. Its dead letter is confirmed; settled. */
  | 'dead-lettered'
  /** The effect may have happened. Its dead letter, which a person must look at, is confirmed; settled. */
  | 'parked'
  /** Another owner took the message over while its handler ran, and its partition or channel is gone. Not settled. */
  | 'lease-lost'

/** Why a delivery was handed back. A label for metrics. */
export type HandedBack =
  /** Its partition or channel moved to another consumer: a rebalance or a lost connection. Normal. */
  | 'moved'
  /** `stop()` was called before it began, or it did not end in time. Normal. */
  | 'stop'
  /** Another owner has had it for longer than `busyWaitMs`. A copy waits in a retry place. */
  | 'busy'
  /**
   * Strategy `offsets`: the position in the database is behind the delivery, and the stream is read again from that
   * position.
   */
  | 'rewound'
  /** A bug of the library, reported by `invariant-broken`: a settle was refused because nothing allowed it. */
  | 'broken'

/** The message is marked: every later delivery of it is a duplicate. */
export function isDone(outcome: Outcome | undefined): boolean {
  return outcome === 'handled' || outcome === 'skipped' || outcome === 'duplicate'
}
