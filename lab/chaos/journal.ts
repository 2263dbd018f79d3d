import type { ProcessFault } from './evidence.ts'

/** Log of a run with times and counts, for looking into a failure. */
export class Journal {
  readonly begunAt: number = Date.now()
  readonly lines: string[] = []
  readonly counts: Map<string, number> = new Map()
  readonly faults: ProcessFault[] = []
  /** Events that must never happen, noticed during the run. */
  readonly breaches: string[] = []

  get seconds(): number {
    return (Date.now() - this.begunAt) / 1_000
  }

  note(who: string, what: string): void {
    this.lines.push(`${Date.now()} ${who}: ${what}`)
  }

  count(what: string, by = 1): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + by)
  }

  fault(fault: ProcessFault): void {
    this.faults.push(fault)
    this.note(fault.process, `${fault.kind} at ${fault.from}, to ${fault.to}`)
    this.count(fault.kind)
  }

  broken(what: string): void {
    this.breaches.push(what)
    this.note('breach', what)
  }
}
