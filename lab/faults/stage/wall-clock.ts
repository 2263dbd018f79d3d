import { trueMs } from '../../kit/true-time.ts'

const MEASURED_FOR_MS = 1_000
/** Accepted time between two reads of the clocks. */
const EXACT_MS = 0.05
const MOST_ATTEMPTS = 20

let measuredAt = Number.NEGATIVE_INFINITY
let offset = 0

/** Converts milliseconds since 1970 that a server on this machine wrote: all processes share its clock, to a microsecond. */
export function trueTimeOf(wallMs: number): number {
  if (trueMs() - measuredAt > MEASURED_FOR_MS) measure()
  return wallMs + offset
}

/** At a tick of the clock whole milliseconds are exact. If the process was preempted just then, it measures again. */
function measure(): void {
  let best = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < MOST_ATTEMPTS && best > EXACT_MS; attempt++) {
    const before = Date.now()
    let asked: number
    let tick: number
    do {
      asked = trueMs()
      tick = Date.now()
    } while (tick === before)
    measuredAt = trueMs()
    if (measuredAt - asked >= best) continue
    best = measuredAt - asked
    offset = measuredAt - tick
  }
}
