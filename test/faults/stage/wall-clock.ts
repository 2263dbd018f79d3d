import { trueMs } from '../true-time.ts'

const MEASURED_FOR_MS = 1_000

let measuredAt = Number.NEGATIVE_INFINITY
let offset = 0

/** Of milliseconds since 1970, as a server on this machine has written them: all share its clock, to a microsecond. */
export function trueTimeOf(wallMs: number): number {
  if (trueMs() - measuredAt > MEASURED_FOR_MS) measure()
  return wallMs + offset
}

/** At the moment of a tick, whole milliseconds are exact. */
function measure(): void {
  const before = Date.now()
  let tick = before
  while (tick === before) tick = Date.now()
  measuredAt = trueMs()
  offset = measuredAt - tick
}
