import type { EventOf } from '../history.ts'

/** What was told of one process. */
export class ProcFacts {
  readonly name: string
  crashes = 0
  /** Calls without an answer. A process that died waits for none. */
  readonly calls: Map<number, OpenCall> = new Map()
  /** How long it stood still, in all, up to now. */
  pausedMs = 0
  /** Of a pause whose end is not known. */
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
  /** Of its process, before it. */
  readonly pausedMs: number
}
