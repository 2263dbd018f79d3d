import type { EvidenceOfEffects } from '../evidence.ts'

/** Traffic between the broker and its clients, as seen on the wire. */
export interface WireEvidence {
  readonly deliveries: number
  readonly redeliveries: number
  /** Frames with an `ack`; one may settle many deliveries. */
  readonly ackFrames: number
  /** When a delivery of an ID was settled for the first time, so that the broker forgets it. */
  readonly settledAt: ReadonlyMap<string, number>
  /** When the broker had confirmed the first dead letter of an ID. */
  readonly deadLetterConfirmedAt: ReadonlyMap<string, number>
  /** Dead letters of an ID whose confirm never came: they may be there, and are sent again. */
  readonly unconfirmedDeadLetters: ReadonlyMap<string, number>
  /** Deliveries of an ID whose channel ended before they were settled, or so soon after it that the broker may not know. */
  readonly lostDeliveries: ReadonlyMap<string, number>
  /** Reasons for which the broker closed channels or connections. */
  readonly refusals: readonly string[]
}

export interface Evidence extends EvidenceOfEffects {
  /** IDs that the broker confirmed. */
  readonly acknowledged: ReadonlySet<string>
  /** How often each was sent, also where no confirm came. */
  readonly sent: ReadonlyMap<string, number>
  /** IDs that no attempt helps. */
  readonly poison: ReadonlySet<string>
  /** IDs in the queue at the end. */
  readonly left: readonly string[]
  /** IDs in the dead-letter queue at the end, each as often as it is there. */
  readonly deadLetters: readonly string[]
  readonly wire: WireEvidence
}
