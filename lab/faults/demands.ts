import type { HistoryEvent } from '../../testing/history.ts'
import { ABORTED } from './settings.ts'

/** What a cell asks for beside its outcome. */
export interface Demands {
  /** A worker must tell it. */
  readonly mustTell?: string
  /** What the dead letter must say. */
  readonly reason?: string
  /** The signal of the handler must abort, and always before the lease ends that the store has granted. */
  readonly mustAbortInTime?: boolean
  /** The handler must not begin more often. */
  readonly mostRuns?: number
  /** So many of the messages that ran when a worker died must run at once after that. */
  readonly mustRunTogether?: number
}

interface About {
  readonly subject: string
  readonly places: readonly string[]
}

/** Which of its demands a cell did not meet. `events` are in the order of true time. */
export function unmet(
  demands: Demands,
  events: readonly HistoryEvent[],
  { subject, places }: About,
): readonly string[] {
  const { mustTell, reason, mustAbortInTime = false, mostRuns, mustRunTogether } = demands
  const failures: string[] = []
  if (mustTell !== undefined && !events.some((event) => event.f === 'tell' && event.what === mustTell)) {
    failures.push(`expected a worker to tell ${mustTell}`)
  }
  const reasons = events.flatMap((event) => (event.f === 'copy' && places.includes(event.place) ? [event.reason] : []))
  if (reason !== undefined && (reasons.length === 0 || reasons.some((one) => one !== reason))) {
    failures.push(`expected a dead letter for ${reason}, found ${reasons.join(', ') || 'none'}`)
  }
  if (mustAbortInTime) failures.push(...lateAborts(events, subject))
  const runs = events.filter((event) => event.f === 'hstart' && event.subject === subject).length
  if (mostRuns !== undefined && runs > mostRuns) failures.push(`expected ${mostRuns} runs at most, found ${runs}`)
  const together = mustRunTogether === undefined ? 0 : mostAtOnceAfterCrash(events)
  if (together < (mustRunTogether ?? 0)) {
    failures.push(`expected ${mustRunTogether} of the same messages at once after the crash, found ${together}`)
  }
  return failures
}

/** By the clock of the store: a lease ends when another worker may be granted it. */
function lateAborts(events: readonly HistoryEvent[], subject: string): readonly string[] {
  let leaseUntil: number | undefined
  let aborts = 0
  const failures: string[] = []
  for (const event of events) {
    if (!('subject' in event) || event.subject !== subject) continue
    if (event.f === 'claim' || event.f === 'renew') leaseUntil = event.until
    if (event.f !== 'tell' || event.what !== ABORTED) continue
    aborts++
    const lateMs = leaseUntil === undefined ? Number.POSITIVE_INFINITY : event.at - leaseUntil
    if (lateMs >= 0) failures.push(`the signal aborted ${lateMs.toFixed(0)} ms after the lease had ended`)
  }
  return aborts === 0 ? ['expected the signal to abort'] : failures
}

/** Only messages that ran when the worker died: the others have no earlier attempt. */
function mostAtOnceAfterCrash(events: readonly HistoryEvent[]): number {
  const running = new Set<string>()
  let tried: ReadonlySet<string> = new Set()
  let most = 0
  for (const event of events) {
    if (event.f === 'hstart') running.add(event.subject)
    if (event.f === 'hend') running.delete(event.subject)
    if (event.f === 'crash') {
      tried = new Set(running)
      running.clear()
    }
    most = Math.max(most, [...running].filter((subject) => tried.has(subject)).length)
  }
  return most
}
