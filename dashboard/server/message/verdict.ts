// Did a message go out: the answer in one sentence, and what belongs to it. Pure.

import { isDone } from '../../../src/ports/outcome.ts'
import type { LiveEntry, RecordRow, Verdict } from '../../api.ts'
import { duration, place, plural, relative } from '../../format.ts'

/** What decides the verdict. */
export interface Known extends Pick<
  RecordRow,
  'state' | 'attempt' | 'since' | 'notBefore' | 'leaseLeftMs' | 'reason' | 'cause'
> {
  readonly maxAttempts: number
  /** Another message came with the same ID, also if no live consumer remembers it. */
  readonly isConflict?: boolean
}

/** The worst first: a conflict is about another message than the record is. */
export function verdictsOf(record: Known, entries: readonly LiveEntry[], now: number): readonly Verdict[] {
  const conflicts = conflictsIn(entries)
  const hasMet = record.isConflict === true || conflicts.length > 0
  const its = verdictOf(record, entries, { now, it: hasMet ? 'The first message with this ID' : 'It' })
  return hasMet ? [conflictVerdict(conflicts, now), its] : [its]
}

export function isConflictIn(entries: readonly LiveEntry[]): boolean {
  return entries.some(isConflict)
}

type Delivery = Extract<LiveEntry, { type: 'delivery' }>

/** Messages that came with the same ID and another payload, each once, the oldest first. */
function conflictsIn(entries: readonly LiveEntry[]): readonly Delivery[] {
  const byPlace = new Map<string, Delivery>()
  for (const entry of entries) if (isConflict(entry)) byPlace.set(place(entry), entry)
  return [...byPlace.values()]
}

function isConflict(entry: LiveEntry): entry is Delivery {
  return entry.type === 'delivery' && entry.reason === 'conflict'
}

function conflictVerdict(conflicts: readonly Delivery[], now: number): Verdict {
  const [one] = conflicts
  const came =
    conflicts.length < 2
      ? `another message came with the same ID and another payload${one === undefined ? '' : `, ${relative(one.at, now)}, from ${place(one)}`}. It did not go out`
      : `${plural(conflicts.length, 'message')} came with the same ID and another payload. They did not go out`
  return {
    tone: 'alarm',
    text: `Conflict: ${came}: the handler did not run, and the dead letters have it.`,
    details: [
      'One ID stands for one message, so only the first payload has an effect. The producer used an ID twice, or changed a message when it sent it again.',
    ],
  }
}

interface About {
  readonly now: number
  readonly it: string
}

function verdictOf(record: Known, entries: readonly LiveEntry[], { now, it }: About): Verdict {
  const { state, since, attempt, maxAttempts, reason } = record
  const details = record.cause === undefined ? [] : [`The last error was: ${record.cause}`]
  const tries = attempt === undefined || attempt === 0 ? '' : ` after ${plural(attempt, 'attempt')}`
  const when = since === undefined ? '' : ` ${relative(since, now)}`
  const because = reason === undefined ? '' : `, reason ${reason}`
  switch (state) {
    case 'done': {
      const copies = it === 'It' ? 'Every further copy is stopped.' : 'Only copies of that one are duplicates.'
      const run = lastRun(entries)
      if (run?.outcome === 'skipped') {
        return {
          tone: 'watch',
          text: `${it} did not go out: its handler skipped it${why(run)}. ${copies}`,
          details: [],
        }
      }
      return {
        tone: 'good',
        text: `${it} went out: its effect is marked as done${when}. ${copies}`,
        details:
          run === undefined ? ['No process remembers its run, so nobody can tell whether its handler skipped it.'] : [],
      }
    }
    case 'parked':
      return {
        tone: 'alarm',
        text: `${it} may have gone out: it was parked${when}${tries}${because}. Nothing runs until a person decides.`,
        details,
      }
    case 'given-up':
      return {
        tone: 'alarm',
        text: `${it} did not go out: it was given up${when}${tries}${because}. No copy of it runs.`,
        details,
      }
    case 'in-doubt':
      return {
        tone: 'alarm',
        text: `${it} may have gone out: an attempt has no known end. The next delivery follows onInDoubt.`,
        details,
      }
    case 'processing': {
      const failed = lastFailure(entries, attempt)
      if (failed !== undefined) return waiting(record, failed, { now, it })
      const lease = record.leaseLeftMs === undefined ? '' : ` Its lease holds for ${duration(record.leaseLeftMs)}.`
      const text = `${it} is being handled now, attempt ${attempt ?? 1} of ${maxAttempts}.${lease}`
      return { tone: 'none', text, details: [] }
    }
    case 'released':
      return waiting(record, lastFailure(entries, attempt), { now, it })
    case 'absent':
      return absent(entries, now)
    case 'unreadable':
      return {
        tone: 'alarm',
        text: 'Nobody can tell: its record was written by another program or a newer version.',
        details: [],
      }
  }
}

/** The record is gone, or never was; a process may remember. */
function absent(entries: readonly LiveEntry[], now: number): Verdict {
  const last = entries.findLast((entry): entry is Delivery => entry.type === 'delivery')
  const run = lastRun(entries)
  if (run?.outcome === 'skipped' && last !== undefined && isDone(last.outcome)) {
    return {
      tone: 'watch',
      text: `It did not go out: a process remembers that its handler skipped it ${relative(run.at, now)}${why(run)}. Its record is gone, so it runs AGAIN if it is delivered again.`,
      details: [],
    }
  }
  if (last !== undefined && isDone(last.outcome)) {
    return {
      tone: 'watch',
      text: `It went out: a process remembers that it was ${last.outcome === 'duplicate' ? 'a duplicate of what was handled' : last.outcome} ${relative(last.at, now)}. Its record is gone, so it runs AGAIN if it is delivered again.`,
      details: ['Its retention is over, a person forgot it, or the store has lost it.'],
    }
  }
  if (last?.outcome === 'dead-lettered') {
    return {
      tone: 'alarm',
      text: `It did not go out: it went to the dead letters ${relative(last.at, now)}${last.reason === undefined ? '' : `, reason ${last.reason}`}. There is no record of it.`,
      details: last.detail === undefined ? [] : [last.detail],
    }
  }
  return {
    tone: 'none',
    text: 'Nobody can tell whether it went out: there is no record of it.',
    details: [],
  }
}

/** The delivery whose run is the one that was marked. */
function lastRun(entries: readonly LiveEntry[]): Delivery | undefined {
  return entries.findLast(
    (entry): entry is Delivery =>
      entry.type === 'delivery' && (entry.outcome === 'handled' || entry.outcome === 'skipped'),
  )
}

function why({ detail }: Delivery): string {
  return detail === undefined ? '' : ` (${detail})`
}

type Failure = Exclude<LiveEntry, { type: 'delivery' }>

/** Set if the newest that is known of the attempt is that it failed. */
function lastFailure(entries: readonly LiveEntry[], attempt: number | undefined): Failure | undefined {
  const last = entries.at(-1)
  return last?.type === 'attempt-failed' && (attempt === undefined || last.attempt === attempt) ? last : undefined
}

function waiting(record: Known, failed: Failure | undefined, { now, it }: About): Verdict {
  const { attempt = failed?.attempt ?? 0, maxAttempts } = record
  if (record.state === 'released' && attempt === 0) {
    return { tone: 'watch', text: `${it} did not go out yet. It is open, and runs at its next delivery.`, details: [] }
  }
  const at = record.notBefore ?? (failed?.retryInMs === undefined ? undefined : failed.at + failed.retryInMs)
  const next = at === undefined || at <= now ? 'at its next turn' : relative(at, now)
  const spent = `${attempt} of ${plural(maxAttempts, 'attempt')} ${attempt === 1 ? 'is' : 'are'} spent`
  const cause = record.cause ?? failed?.detail
  return {
    tone: 'watch',
    text: `${it} did not go out yet: ${spent}. It runs again ${next}.`,
    details: [
      ...(cause === undefined ? [] : [`The last error was: ${cause}`]),
      `If ${attempt + 1 >= maxAttempts ? 'that attempt' : `attempt ${maxAttempts}`} fails too, it is given up: no copy runs, and the dead letters have it.`,
    ],
  }
}
