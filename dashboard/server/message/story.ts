// What happened to a message, in sentences. Pure.

import type { LiveEntry, Told } from '../../api.ts'
import { duration, place } from '../../format.ts'

/** What happened, in the order of time. Attempts that failed one after the other with the same error are one sentence. */
export function storyOf(entries: readonly LiveEntry[]): readonly Told[] {
  let hasDelivery = false
  return foldedOf(entries).map((same) => {
    const [first] = same
    const text = same.length === 1 ? sentenceOf(first, hasDelivery) : attemptsText(same)
    hasDelivery ||= first.type === 'delivery'
    return { from: first.at, to: (same.at(-1) ?? first).at, text, at: placeOf(first) }
  })
}

function placeOf(entry: LiveEntry): string | undefined {
  return entry.type === 'delivery' && entry.system === 'kafka' ? place(entry) : undefined
}

type Group = readonly [LiveEntry, ...LiveEntry[]]

/** Neighbours that say the same. */
function foldedOf(entries: readonly LiveEntry[]): readonly Group[] {
  const groups: [LiveEntry, ...LiveEntry[]][] = []
  for (const entry of entries) {
    const last = groups.at(-1)
    if (last !== undefined && isSameFailure(last[0], entry)) last.push(entry)
    else groups.push([entry])
  }
  return groups
}

function isSameFailure(one: LiveEntry, other: LiveEntry): boolean {
  return one.type === 'attempt-failed' && other.type === 'attempt-failed' && one.detail === other.detail
}

function attemptsText(same: Group): string {
  const [first] = same
  const last = same.at(-1) ?? first
  const which =
    first.attempt === undefined || last.attempt === undefined
      ? `${same.length} attempts`
      : `Attempts ${first.attempt} to ${last.attempt}`
  return `${which} failed${whyOf(last)}${againOf(last)}.`
}

function whyOf({ detail }: LiveEntry): string {
  return detail === undefined || detail === '' ? '' : ` (${detail})`
}

function againOf(entry: LiveEntry): string {
  return entry.type === 'delivery' || entry.retryInMs === undefined
    ? ''
    : `, to be tried again after ${duration(entry.retryInMs)}`
}

function sentenceOf(entry: LiveEntry, isAgain: boolean): string {
  const why = whyOf(entry)
  const which = entry.attempt === undefined ? 'An attempt' : `Attempt ${entry.attempt}`
  switch (entry.type) {
    case 'attempt-failed':
      return `${which} failed${why}${againOf(entry)}.`
    case 'put-off':
      return `Its handler asked for a later time${why}${againOf(entry)}. No attempt was spent.`
    case 'in-doubt':
      return `It came to be in doubt${why}: nobody knows whether its effect happened.`
    case 'lease-lost':
      return `Another process took it over while its handler ran.`
    case 'stuck':
      return `Its handler was past its time limit and ignored the signal to stop.`
    case 'publish-failed':
      return `A copy of it could not be published${why}. The message was not settled.`
    case 'beyond-retention':
      return `It was older than the retention, and has no record${why}.`
    case 'delivery':
      return deliveryText(entry, isAgain)
  }
}

function deliveryText(entry: Extract<LiveEntry, { type: 'delivery' }>, isAgain: boolean): string {
  const took = entry.durations === undefined ? '' : ` after ${duration(entry.durations.totalMs)}`
  const again = entry.redelivered === true || isAgain ? 'Delivered again' : 'Delivered'
  const start = `${again} from ${place(entry)}`
  switch (entry.outcome) {
    case 'handled':
      return `${start} and handled: the handler ran, the mark was kept, the message was settled${took}.`
    case 'skipped':
      return `${start}: its handler skipped it${entry.detail === undefined ? '' : ` (${entry.detail})`}. It is marked and was settled${took}.`
    case 'duplicate':
      return `${start}: a duplicate. The handler did not run, nothing happened twice.`
    case 'joined':
      return `${start} while it was under way in the same process. It ended with that run.`
    case 'failed':
      return `${start}: its handler failed. A copy waits in a retry place.`
    case 'handed-back':
      return `${start} and handed back without a run${entry.why === undefined ? '' : ` (${HANDED_BACK[entry.why]})`}.`
    case 'settle-refused':
      return `${start}: it ended as ${entry.refused ?? 'decided'}, but its partition or channel was gone by then. It comes again.`
    case 'dead-lettered':
      if (entry.reason === 'conflict') {
        return `${start}: a conflict. It has the same ID and another payload, so the handler did not run, and it went to the dead letters.`
      }
      return `${start}: it went to the dead letters${reasonText(entry.reason)}.`
    case 'parked':
      return `${start}: it was parked for a person${reasonText(entry.reason)}.`
    case 'lease-lost':
      return `${start}: another process took it over while its handler ran.`
  }
}

const HANDED_BACK = {
  moved: 'its partition or channel moved to another consumer',
  stop: 'the consumer was stopping',
  busy: 'another process had it; a copy waits',
  rewound: 'its partition is read again',
  broken: 'a rule of the library was broken',
} as const

function reasonText(reason: string | undefined): string {
  return reason === undefined ? '' : `, reason ${reason}`
}
