import type { HistoryEvent } from '../../testing/history.ts'
import { ABORTED, ASKS_TO_STOP, LATER_ATTEMPT } from './settings.ts'

/** What a cell demands in addition to its outcome. */
export interface Demands {
  /** A worker must report this event. */
  readonly mustReport?: string
  /** Reason that the dead letter must carry. */
  readonly reason?: string
  /** The signal of the handler must abort, and always before the lease ends that the store granted. */
  readonly mustAbortInTime?: boolean
  /** Upper limit of handler starts for the target. */
  readonly mostRuns?: number
  /** Upper limit of handler starts for every message. */
  readonly mostRunsOfEach?: number
  /** No handler of a worker starts once it was told to stop. */
  readonly beginsNothingAfterStop?: boolean
  /** Every run is a first attempt: of all messages, or of all but the one whose handler asked for the stop. */
  readonly givesAttemptsBack?: 'all' | 'all but the one that asked'
  /** After a crash, at least this many of the messages that ran at the crash must run at the same time again. */
  readonly mustRunTogether?: number
}

interface About {
  readonly subject: string
  readonly places: readonly string[]
}

/** The demands that a cell did not meet. `events` are in the order of true time. */
export function unmet(
  demands: Demands,
  events: readonly HistoryEvent[],
  { subject, places }: About,
): readonly string[] {
  const { mustReport, reason, mustAbortInTime = false, mostRuns, mustRunTogether } = demands
  const failures: string[] = []
  if (mustReport !== undefined && !events.some((event) => event.f === 'tell' && event.what === mustReport)) {
    failures.push(`expected a worker to report ${mustReport}`)
  }
  const reasons = events.flatMap((event) => (event.f === 'copy' && places.includes(event.place) ? [event.reason] : []))
  if (reason !== undefined && (reasons.length === 0 || reasons.some((one) => one !== reason))) {
    failures.push(`expected a dead letter for ${reason}, found ${reasons.join(', ') || 'none'}`)
  }
  if (mustAbortInTime) failures.push(...lateAborts(events, subject))
  const runs = events.filter((event) => event.f === 'hstart' && event.subject === subject).length
  if (mostRuns !== undefined && runs > mostRuns) failures.push(`expected ${mostRuns} runs at most, found ${runs}`)
  if (demands.mostRunsOfEach !== undefined) failures.push(...repeats(events, demands.mostRunsOfEach))
  if (demands.beginsNothingAfterStop === true) failures.push(...begunAfterStop(events))
  if (demands.givesAttemptsBack !== undefined) failures.push(...keptAttempts(events, demands.givesAttemptsBack))
  const together = mustRunTogether === undefined ? 0 : mostAtOnceAfterCrash(events)
  if (together < (mustRunTogether ?? 0)) {
    failures.push(`expected ${mustRunTogether} of the same messages at once after the crash, found ${together}`)
  }
  return failures
}

function repeats(events: readonly HistoryEvent[], most: number): readonly string[] {
  const runs = new Map<string, number>()
  for (const event of events) {
    if (event.f === 'hstart') runs.set(event.subject, (runs.get(event.subject) ?? 0) + 1)
  }
  const often = [...runs].filter(([, count]) => count > most)
  return often.map(([subject, count]) => `expected ${most} runs of ${subject} at most, found ${count}`)
}

/** By the order in which the worker was told: it hears the order before a handler that waits for it goes on. */
function begunAfterStop(events: readonly HistoryEvent[]): readonly string[] {
  const stopping = new Set<string>()
  const failures: string[] = []
  for (const event of events) {
    if (event.f === 'call' && event.call === 'stop' && event.type === 'invoke') stopping.add(event.proc)
    if (event.f === 'hstart' && stopping.has(event.proc)) {
      failures.push(`${event.proc} began ${event.subject} after it was told to stop`)
    }
  }
  return stopping.size === 0 ? ['expected a worker to be told to stop'] : failures
}

function keptAttempts(
  events: readonly HistoryEvent[],
  which: NonNullable<Demands['givesAttemptsBack']>,
): readonly string[] {
  const asked = events.find((event) => event.f === 'tell' && event.what === ASKS_TO_STOP)
  const asker = asked?.f === 'tell' ? asked.subject : undefined
  const counted = events.flatMap((event) => (event.f === 'tell' && event.what === LATER_ATTEMPT ? [event.subject] : []))
  return counted
    .filter((subject) => which === 'all' || subject !== asker)
    .map((subject) => `expected the attempt of ${subject} to be given back`)
}

/** By the clock of the store: a lease ends when the store may grant it to another worker. */
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

/** Counts only messages that ran at the crash: the others have no earlier attempt. */
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
