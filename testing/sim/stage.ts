import type { Happening, HistoryEvent } from '../history.ts'
import type { Chance } from './chance.ts'
import type { Faults } from './faults.ts'
import type { SimProcess } from './process.ts'
import type { Timeline } from './timeline.ts'

const ENDS: ReadonlySet<string> = new Set(['before mark', 'before release', 'before setAside'])

/** The parts that are shared within one schedule. */
export class Stage {
  readonly timeline: Timeline
  readonly chance: Chance
  readonly faults: Faults
  readonly events: HistoryEvent[] = []
  /** From now on processes that end are not started again. */
  isOver = false
  /** Called with each event, right after it. */
  watch: ((event: HistoryEvent) => void) | undefined

  constructor(timeline: Timeline, chance: Chance, faults: Faults) {
    this.timeline = timeline
    this.chance = chance
    this.faults = faults
  }

  record(proc: string, happening: Happening): void {
    const event = { at: this.timeline.now, proc, ...happening }
    this.events.push(event)
    this.watch?.(event)
  }

  /** Continues a process after this step: at once, later if it is paused here, or never if it dies. */
  step(process: SimProcess, step: string, go: () => void): void {
    if (process.isDead) return
    if (this.faults.happens('pause') || (ENDS.has(step) && this.faults.happens('lateEnd'))) {
      this.pause(process, this.chance.between(100, this.faults.pausedForMs), step)
    }
    if (this.faults.happens('crash')) {
      this.record(process.name, { f: 'crash', detail: step })
      process.die()
    } else if (process.isPaused) process.after(0, go)
    else go()
  }

  pause(process: SimProcess, forMs: number, detail: string): void {
    this.record(process.name, { f: 'pause', forMs, detail })
    process.pause(forMs)
  }

  /** Sends a request to a server. It arrives even if its sender dies. */
  travel(arrive: () => void): void {
    this.timeline.after(this.faults.latencyMs(), arrive)
  }
}
