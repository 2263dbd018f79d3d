import type { Digest, RecordView } from './record.ts'

/** What a replay finds out about a message before anything runs. The order is that of tables for people. */
export const BUCKETS = [
  'fresh',
  'done',
  'given-up',
  'processing',
  'in-doubt',
  'parked',
  'conflict',
  'no-id',
  'unreadable',
  'unknown',
  'looped',
  'undated',
  'no-reason',
  'no-field',
  'filtered',
] as const

export type Bucket = (typeof BUCKETS)[number]

/** A message does not have what a selection asks for, so nothing tells whether it is meant. */
export const LACKS = ['undated', 'no-reason', 'no-field'] as const

/**
 * `undated`: no time, or one in the future. `no-reason`: it does not say why it was set aside. `no-field`: a condition is about a field
 * that it does not have.
 */
export type Lack = (typeof LACKS)[number]

/** What a person allows a replay to do. Everything else is left as it is. */
export interface ReplayRules {
  /** Messages that are done happen again: their records are forgotten, then they run. @defaultValue false */
  readonly again: boolean
  /** Messages that were given up are reopened, then they run. @defaultValue `skip` */
  readonly givenUp: 'handle' | 'skip'
  /** The effect may have happened: a second run may repeat it. @defaultValue `leave` */
  readonly inDoubt: 'rerun' | 'leave'
  /** No record, and nothing proves that there never was one. @defaultValue `refuse` */
  readonly unknown: 'refuse' | 'handle' | 'skip'
  /** A message that was replayed as often as this is left. @defaultValue 2 */
  readonly maxReplays: number
}

export interface ReplayFacts {
  /** `undefined`: the message has no usable ID; a bucket says why. */
  readonly view: RecordView | 'no-id' | 'unreadable' | 'not-asked'
  /** Empty if payloads are not compared. */
  readonly digest: Digest
  readonly selected: 'yes' | 'no' | Lack
  /** True if absence of a record proves that the message was not handled. */
  readonly isProven: boolean
  /** How often it was replayed before. */
  readonly replays: number
}

/** The first that applies, from what can never run to what may. */
export function bucketOf(
  { view, digest, selected, isProven, replays }: ReplayFacts,
  { maxReplays }: Pick<ReplayRules, 'maxReplays'>,
): Bucket {
  if (selected !== 'yes') return selected === 'no' ? 'filtered' : selected
  if (view === 'no-id' || view === 'unreadable') return view
  if (view === 'not-asked') return 'filtered'
  const bucket = isOtherPayload(view, digest) ? 'conflict' : bucketOfRecord(view, isProven)
  return replays >= maxReplays && MAY_RUN.has(bucket) ? 'looped' : bucket
}

/** The record is of another message with the same ID. Empty: a digest is not known. */
export function isOtherPayload(view: RecordView, digest: string): boolean {
  return view.digest !== undefined && view.digest !== '' && digest !== '' && view.digest !== digest
}

const MAY_RUN: ReadonlySet<Bucket> = new Set(['fresh', 'given-up', 'in-doubt', 'unknown'])

function bucketOfRecord({ state }: RecordView, isProven: boolean): Bucket {
  switch (state) {
    case 'absent':
      return isProven ? 'fresh' : 'unknown'
    // An attempt is counted, so there is a record, which says that it was not handled.
    case 'released':
      return 'fresh'
    case 'processing':
    case 'in-doubt':
    case 'done':
    case 'given-up':
    case 'parked':
    case 'unreadable':
      return state
  }
}

/**
 * What follows for a message. `forget`, `reopen` and `rerun` change its record as a person would, then it is handled.
 * `wait`: looked at once more at the end. `skip`: it is done, or the person said so. `leave`: a person must look at it.
 * `refuse`: the replay does not start.
 */
export type ReplayStep = 'handle' | 'forget' | 'reopen' | 'rerun' | 'wait' | 'skip' | 'leave' | 'refuse'

export function stepFor(bucket: Bucket, rules: ReplayRules): ReplayStep {
  switch (bucket) {
    case 'fresh':
      return 'handle'
    case 'done':
      return rules.again ? 'forget' : 'skip'
    case 'given-up':
      return rules.givenUp === 'handle' ? 'reopen' : 'skip'
    case 'processing':
      return 'wait'
    case 'in-doubt':
      return rules.inDoubt === 'rerun' ? 'rerun' : 'leave'
    case 'unknown':
      return rules.unknown
    case 'undated':
    case 'no-reason':
    case 'no-field':
    case 'filtered':
      return 'skip'
    case 'parked':
    case 'conflict':
    case 'no-id':
    case 'unreadable':
    case 'looped':
      return 'leave'
  }
}
