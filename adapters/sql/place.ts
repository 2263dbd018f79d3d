import type { Losses, Outgoing } from '../../src/internal.ts'
import type { Script, Sessions } from './session.ts'

/** Database and ID of a scope. */
export interface Place<Tx = unknown> {
  readonly sessions: Sessions<Tx>
  readonly scope: number
  /** Shared by all scopes of the store. */
  readonly losses: Losses
  /** Where handlers publish; `undefined`: the store has no outbox. */
  readonly outgoing?: OutgoingPlace | undefined
}

export interface OutgoingPlace {
  /** Runs in the transaction of the handlers, in the message of its COMMIT. */
  write(messages: readonly Outgoing[]): Script
  /** Some were committed. */
  wake(): void
}
