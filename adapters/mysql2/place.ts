import type { Losses } from '../../src/index.ts'
import type { Sessions } from './sessions.ts'
import type { Tables } from './sql/tables.ts'

/** Where the records of a scope are. */
export interface Place {
  readonly sessions: Sessions
  readonly tables: Tables
  readonly scope: number
  /** Of all scopes of its store. */
  readonly losses: Losses
}
