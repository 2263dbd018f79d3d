// The words of the dashboard for states, outcomes and buckets. One place, so that all screens say the same.

import type { DecisionKind, ListState, Outcome, RecordView } from '../api.ts'

export type Tone = 'good' | 'watch' | 'alarm' | 'none'

interface Word {
  readonly title: string
  readonly tone: Tone
  readonly about: string
}

/** In the order of a stacked chart, from the usual to the rare. */
export const OUTCOMES: Readonly<Record<Outcome, Word>> = {
  handled: { title: 'handled', tone: 'good', about: 'The handler ran, its effect is marked.' },
  skipped: { title: 'skipped', tone: 'good', about: 'The handler ran and said that it needs no effect.' },
  duplicate: { title: 'duplicate stopped', tone: 'good', about: 'It was done before. The handler did not run.' },
  joined: { title: 'joined', tone: 'good', about: 'Another delivery of it was under way in the same process.' },
  failed: { title: 'failed, will retry', tone: 'watch', about: 'It waits in a retry place for its next attempt.' },
  'handed-back': { title: 'handed back', tone: 'watch', about: 'Not handled. The broker delivers it again.' },
  'settle-refused': {
    title: 'settle refused',
    tone: 'watch',
    about: 'Its partition or channel was gone. It comes again.',
  },
  'dead-lettered': { title: 'dead-lettered', tone: 'alarm', about: 'It was given up, or it is unusable.' },
  parked: { title: 'parked', tone: 'alarm', about: 'Its effect may have happened. A person must decide.' },
  'lease-lost': { title: 'lease lost', tone: 'alarm', about: 'Another process took it over while its handler ran.' },
}

export const OUTCOME_NAMES: readonly Outcome[] = Object.keys(OUTCOMES) as Outcome[]

interface StateWord {
  readonly title: string
  readonly tone: Tone
}

/** What each means is `MEANING`, which the command-line tool shows, too. */
export const STATES: Readonly<Record<RecordView['state'], StateWord>> = {
  done: { title: 'Done', tone: 'good' },
  processing: { title: 'Processing', tone: 'none' },
  released: { title: 'Waiting for a retry', tone: 'watch' },
  'in-doubt': { title: 'In doubt', tone: 'alarm' },
  parked: { title: 'Parked', tone: 'alarm' },
  'given-up': { title: 'Given up', tone: 'alarm' },
  absent: { title: 'No record', tone: 'none' },
  unreadable: { title: 'Unreadable', tone: 'alarm' },
}

interface ListWord {
  readonly title: string
  /** What is in this list. */
  readonly about: string
  /** What an empty list means. */
  readonly empty: string
  readonly decisions: readonly DecisionKind[]
}

export const LISTS: Readonly<Record<ListState, ListWord>> = {
  parked: {
    title: 'Parked',
    about: 'The effect of each may have happened. No copy runs until a person decides.',
    empty:
      'Nothing waits for a person. A message is parked when its effect may have happened and the consumer has onInDoubt: "park".',
    decisions: ['done', 'rerun'],
  },
  'in-doubt': {
    title: 'In doubt',
    about: 'An attempt of each has no known end. The next delivery follows onInDoubt.',
    empty: 'No message is in doubt. A message is in doubt when its process died, or its handler had no known end.',
    decisions: ['done', 'rerun'],
  },
  'given-up': {
    title: 'Given up',
    about: 'Each failed without an effect. No copy runs until it is reopened; its dead letter waits at the broker.',
    empty: 'No message was given up. One is given up when all its attempts failed, or when it is unusable.',
    decisions: ['reopen', 'done'],
  },
  processing: {
    title: 'Processing',
    about: 'A process has each of them now, and renews its lease.',
    empty:
      'No message is claimed at this moment. One that waits for its next attempt has no claim; the page of consumers counts it as in flight.',
    decisions: [],
  },
}

export const LIST_NAMES: readonly ListState[] = Object.keys(LISTS) as ListState[]

export const DECISIONS: Readonly<Record<DecisionKind, { readonly title: string; readonly about: string }>> = {
  done: { title: 'Mark as done', about: 'The effect happened. Every further copy is a duplicate.' },
  rerun: {
    title: 'Run again',
    about: 'The next delivery runs, with all its attempts. Make sure that the old handler has ended.',
  },
  reopen: { title: 'Reopen', about: 'No effect happened. The next delivery runs, with all its attempts.' },
  forget: { title: 'Forget', about: 'It is done, and its effect happens AGAIN at the next delivery.' },
}

/** Order and words of the buckets of a plan, of one message as of many. */
export const BUCKET_WORDS: Readonly<Record<string, string>> = {
  fresh: 'Never handled: would run',
  done: 'Done: the effect happened',
  'given-up': 'Given up without an effect',
  processing: 'Being handled now',
  'in-doubt': 'In doubt: the effect may have happened',
  parked: 'Parked: a person must decide first',
  conflict: 'Same ID with another payload',
  'no-id': 'Has no usable ID',
  unreadable: 'Its record cannot be read',
  unknown: 'No record, and nothing proves that it was not handled',
  looped: 'Replayed too often already',
  undated: 'No usable time to select by',
  'no-reason': 'No reason to select by',
  'no-field': 'Lacks a field to select by',
  filtered: 'In the range, but not meant',
}

export const REPLAY_OUTCOME_WORDS: Readonly<Record<string, string>> = {
  handled: 'handled',
  'done-before': 'done before',
  failed: 'failed',
  parked: 'parked',
  left: 'left for a person',
  skipped: 'skipped',
}

export const REDRIVE_WORDS: Readonly<Record<string, string>> = {
  redriven: 'can go back to where it came from',
  done: 'done: nothing to do',
  parked: 'parked: decide first',
  busy: 'being handled now',
  conflict: 'another payload than its ID had',
  'no-id': 'no usable ID',
  unreadable: 'a record that cannot be read',
  unknown: 'may have been handled: nothing proves that it was not',
  looped: 'redriven too often already',
  repeated: 'repeats another dead letter of the same message',
  'no-destination': 'does not tell where it came from',
  'refused-destination': 'came from a place that is not allowed',
  unconfirmed: 'came after the look',
  filtered: 'not meant',
}
