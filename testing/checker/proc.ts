import type { EventOf } from '../history.ts'

/** Facts about one process. */
export class ProcFacts {
  readonly name: string
  crashes = 0
  /** Calls without an answer. A dead process waits for none. */
  readonly calls: Map<number, OpenCall> = new Map()
  /** Total time for which it was paused so far. */
  pausedMs = 0
  /** End of the last pause whose length is known. */
  pausedUntil = 0
  /** Start of a pause whose end is not known. */
  pausedSince: number | undefined = undefined

  constructor(name: string) {
    this.name = name
  }

  pausedMsUntil(at: number): number {
    return this.pausedMs + (this.pausedSince === undefined ? 0 : at - this.pausedSince)
  }
}

export interface OpenCall {
  readonly event: EventOf<'call'>
  /** Total pause of its process before it, without the rest of a pause in which it began. */
  readonly pausedMs: number
}
