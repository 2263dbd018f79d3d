import type { Tables } from './tables.ts'

/** One step of the schema. Numbers are never reused; what is released is never changed. */
export interface Migration {
  readonly version: number
  readonly name: string
  /** Code that does not know this migration must not run on it. */
  readonly breaking: boolean
  /** Each commits by itself and may be run again: a process may die between two of them. */
  readonly statements: (tables: Tables) => readonly string[]
}
