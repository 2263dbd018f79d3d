// Lists of records, and how many there are.

import type { Key, RecordView } from '../../src/core/record.ts'
import type { EpochMs } from '../../src/core/units.ts'
import type { CountedState, StateCount } from '../../src/people/admin.ts'
import type { ApiError, ConsumerQuery } from './session.ts'

export type { CountedState as ListState, StateCount }

export interface CountsAnswer {
  readonly now: EpochMs
  readonly consumers: readonly {
    readonly consumer: string
    /** `undefined`: no records to count (strategy `offsets`), or the store did not answer. */
    readonly counts: Readonly<Record<CountedState, StateCount>> | undefined
    /** When it was last counted: with `error`, when its store last answered; `undefined`: not since the dashboard began. */
    readonly at: EpochMs | undefined
    readonly error: ApiError['error'] | undefined
  }[]
}

export interface RecordsQuery extends ConsumerQuery {
  readonly state: CountedState
  /** 1 to 500. @defaultValue 50 */
  readonly limit?: number
  /** `next` of the page before. */
  readonly after?: string
  /** Only records with exactly this reason; empty: those without a reason. */
  readonly reason?: string
  /** Only records with this text in the reason or the cause. */
  readonly text?: string
  /** Only records that were set aside before this time. */
  readonly before?: EpochMs
  /** Only the record of the message with this ID. The others count for nothing then. */
  readonly id?: string
}

/** A record for people: without its digest, from which a short payload could be guessed, and without its result. */
export interface RecordRow extends Omit<RecordView, 'digest' | 'result'> {
  readonly key: Key
  readonly hasResult?: true
}

export interface RecordsAnswer {
  readonly now: EpochMs
  readonly records: readonly RecordRow[]
  /** How many records were looked at for this page, in whatever state. */
  readonly looked: number
  /**
   * A page ends after 2 s, and then may be empty and still have a next one: what is rare lies anywhere. It may also be longer than
   * `limit`.
   */
  readonly next: string | undefined
  /** With `id`, if its record is in another state than the list: this one. */
  readonly elsewhere: RecordView['state'] | undefined
}

/** Counted over at most 10,000 records, or 2 s. The answer may be 10 s old. */
export interface GroupsAnswer {
  readonly now: EpochMs
  readonly total: StateCount
  /** The largest first. At most 100. */
  readonly groups: readonly {
    /** Empty: no reason is kept, as for what is processing. */
    readonly reason: string
    readonly count: number
    /** Since when the oldest and the newest are set aside. */
    readonly oldest: EpochMs | undefined
    readonly newest: EpochMs | undefined
    /** One cause, as an example. */
    readonly cause: string | undefined
  }[]
}
