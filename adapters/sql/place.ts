import type { Losses } from '../../src/internal.ts'
import type { Sessions } from './session.ts'

/** Database and ID of a scope. */
export interface Place<Tx = unknown> {
  readonly sessions: Sessions<Tx>
  readonly scope: number
  /** Shared by all scopes of the store. */
  readonly losses: Losses
}
