import type { Tables } from '../statements/tables.ts'

/** One step of the schema. Versions are never reused, and a released step is never changed. */
export interface Migration {
  readonly version: number
  readonly name: string
  /** Code that does not know this migration must not run on it. */
  readonly breaking: boolean
  readonly sql: (tables: Tables) => string
}
