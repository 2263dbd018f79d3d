import type { Losses } from '../../src/spi.ts'
import type { Sessions } from './sessions/sessions.ts'
import type { Tables } from './statements/tables.ts'

/** Database, tables and ID of a scope. */
export interface Place {
  readonly sessions: Sessions
  readonly tables: Tables
  readonly scope: number
  /** Shared by all scopes of the store. */
  readonly losses: Losses
}
