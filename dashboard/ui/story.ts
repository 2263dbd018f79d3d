// Why a message did or did not go out, in sentences. Pure.

import type { LiveEntry, MessageRecord } from '../api.ts'
import { duration, exact, place, plural, relative } from './format.ts'

type Told = Pick<
  MessageRecord,
  'state' | 'attempt' | 'since' | 'notBefore' | 'leaseLeftMs' | 'reason' | 'cause' | 'keepUntil'
>
type Happened = LiveEntry

/** The sentences in the order of time; the last one is the answer. */
export function storyOf(record: Told, entries: readonly Happened[], now: number): readonly string[] {
  return [
    ...entries.flatMap((entry, at) => sentenceOf(entry, isDelivered(entries.slice(0, at)))),
    ...endOf(record, now),
  ]
}

function isDelivered(entries: readonly Happened[]): boolean {
  return entries.some(({ type }) => type === 'delivery')
}

function sentenceOf(entry: Happened, isAgain: boolean): readonly string[] {
  const when = `${exact(entry.at).slice(11)}: `
  const why = entry.detail === undefined || entry.detail === '' ? '' : ` (${entry.detail})`
  const which = entry.attempt === undefined ? 'An attempt' : `Attempt ${entry.attempt}`
  switch (entry.type) {
    case 'attempt-failed': {
      const again = entry.retryInMs === undefined ? '' : `, to be tried again after ${duration(entry.retryInMs)}`
      return [`${when}${which} failed${why}${again}.`]
    }
    case 'in-doubt':
      return [`${when}It came to be in doubt${why}: nobody knows whether its effect happened.`]
    case 'lease-lost':
      return [`${when}Another process took it over while its handler ran.`]
    case 'stuck':
      return [`${when}Its handler was past its time limit and ignored the signal to stop.`]
    case 'publish-failed':
      return [`${when}A copy of it could not be published${why}. The message was not settled.`]
    case 'beyond-retention':
      return [`${when}It was older than the retention, and has no record${why}.`]
    case 'delivery':
      return [`${when}${deliveryText(entry, isAgain)}`]
  }
}

function deliveryText(entry: Extract<Happened, { type: 'delivery' }>, isAgain: boolean): string {
  const took = entry.durations === undefined ? '' : ` after ${duration(entry.durations.totalMs)}`
  const again = entry.redelivered === true || isAgain ? 'Delivered again' : 'Delivered'
  const start = `${again} from ${place(entry)}`
  switch (entry.outcome) {
    case 'handled':
      return `${start} and handled: the handler ran, the mark was kept, the message was settled${took}.`
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

function endOf(record: Told, now: number): readonly string[] {
  const { state, since, attempt } = record
  const cause = record.cause === undefined ? [] : [`The last error was: ${record.cause}`]
  const tries = attempt === undefined || attempt === 0 ? '' : ` after ${plural(attempt, 'attempt')}`
  const when = since === undefined ? '' : ` ${relative(since, now)}, at ${exact(since)}`
  switch (state) {
    case 'done':
      return [`It went out: its effect is marked as done${when}. Every further copy is stopped.`]
    case 'parked':
      return [
        ...cause,
        `It may have gone out: it was parked${when}${tries}${reasonText(record.reason)}. Nothing runs until a person decides.`,
      ]
    case 'given-up':
      return [...cause, `It did not go out: it was given up${when}${tries}${reasonText(record.reason)}.`]
    case 'in-doubt':
      return [...cause, `It may have gone out: an attempt has no known end. The next delivery follows onInDoubt.`]
    case 'processing': {
      const lease = record.leaseLeftMs === undefined ? '' : ` Its lease holds for ${duration(record.leaseLeftMs)}.`
      return [`It is being handled now, attempt ${attempt ?? 1}.${lease}`]
    }
    case 'released': {
      const wait =
        record.notBefore === undefined ? 'at its next delivery' : `not before ${exact(record.notBefore).slice(11)}`
      return [...cause, `It did not go out yet: it runs again ${wait}${tries}.`]
    }
    case 'absent':
      return ['It did not go out by this consumer, as far as its records reach: there is no record of it.']
    case 'unreadable':
      return ['Nobody can tell: its record was written by another program or a newer version.']
  }
}
