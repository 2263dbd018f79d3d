// Protocol between a worker and its parent process. The worker writes lines of JSON to a pipe of its own. It
// reads one word per line from stdin, and ends when stdin ends.
import type { Observed } from './observed.ts'

/** The pipe on which a worker speaks. */
export const LINES = 3

/** A server could not be used at the start, or the stop failed. */
export const EXIT_FAILED = 75

/** `let go`: for modules whose handlers wait. */
export type Order = 'begin' | 'let go' | 'stop'

/** With its true time: in the pipe before anything else happens, so that a kill loses none. */
export type WorkerLine<Report> = { readonly at: number } & (
  | { readonly says: 'loaded' | 'running' | 'stopping' | 'stopped' }
  | ({ readonly says: 'observed' } & Observed)
  /** By the module. */
  | { readonly says: 'report'; readonly report: Report }
)
