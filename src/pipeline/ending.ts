import type { AfterClaim, DeadLetterReason } from '../core/after-claim.ts'
import type { Reason, Result } from '../core/record.ts'
import type { DurationMs, EpochMs } from '../core/units.ts'
import type { Claim } from '../ports/store.ts'
import type { Evidence } from './evidence.ts'

/** How a task ends that was taken from the lanes. `CarryOut` decides from it what the broker is told. */
export type Ending =
  /** The handler ran, and its mark is durable or it may do without one: `evidence` says which. Settled. */
  | {
      readonly end: 'handled'
      readonly evidence: Evidence
      /** Its fence is 0 if no store granted it. */
      readonly claim: Claim
      readonly result: Result | undefined
    }
  /** It was done, or was marked without a run for this reason. Settled. */
  | {
      readonly end: 'duplicate'
      readonly evidence: Evidence
      readonly reason?: Reason
      /** When the record that the claim found was marked. */
      readonly since?: EpochMs | undefined
      readonly result?: Result | undefined
    }
  /** Not claimed, or no longer. A copy goes to a retry place; settled once it is confirmed. */
  | {
      readonly end: 'retry'
      readonly why: 'failed' | 'busy'
      readonly attempts: number
      readonly delayMs: DurationMs
      readonly error?: unknown
    }
  /** Not settled. Claimed again in this process, from its place in its lane, if a delivery of it is still ours. */
  | { readonly end: 'rerun'; readonly delayMs?: DurationMs }
  /**
   * Not settled. Another owner has it, under a lease that ends in `leaseLeftMs`: claimed again soon. If this lasts too
   * long, a copy goes to a retry place.
   */
  | { readonly end: 'wait'; readonly leaseLeftMs: DurationMs }
  /** Its record is set aside now. Settled once its dead letter is confirmed. */
  | {
      readonly end: 'set-aside'
      readonly parked: boolean
      readonly setAsideAt: EpochMs
      readonly why: SettingAside
    }
  /** The claim found a record that stays as it is. Settled once the dead letter is confirmed. */
  | { readonly end: 'dead-letter'; readonly found: FoundAside }
  /** Not settled. Its stream is read again from the stored position. */
  | { readonly end: 'rewind' }
  /** Not settled, and no longer ours: the broker delivers it again, here or elsewhere. */
  | { readonly end: 'dropped'; readonly isLeaseLost: boolean }

export const RERUN: Ending = { end: 'rerun' }
export const DROPPED: Ending = { end: 'dropped', isLeaseLost: false }
/** Another owner took it over, and no delivery of it is ours. */
export const LEASE_LOST: Ending = { end: 'dropped', isLeaseLost: true }

export type FoundAside = Extract<AfterClaim, { next: 'dead-letter' }>

export interface SettingAside {
  readonly reason: DeadLetterReason
  /** The library's own words, or a text that ends with the text of `error`. */
  readonly detail: string
  /** The thrown value. Its text may repeat the message. */
  readonly error?: unknown
  /** Starts of its handler. A claim whose handler did not begin does not count. */
  readonly attempts: number
}
