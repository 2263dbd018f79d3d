import type { HistoryEvent } from '../../../testing/history.ts'

/** One write of a lease record. */
export interface LeaseWrite {
  readonly at: number
  /** The server. */
  readonly proc: string
  readonly state: 'processing' | 'released' | 'done' | 'given-up' | 'parked'
  readonly fence: number
  readonly attempt: number
  readonly doubt: boolean
  /** A done record may keep only the beginning of the token. */
  readonly owner: string
  /** True time at which the lease ends, or until which the record is kept; `undefined`: unknown. */
  readonly until: number | undefined
  readonly reason: string
}

/** Translates the writes of one record, in the order of the store, into events. */
export function eventsOfRecord(writes: readonly LeaseWrite[], subject: string): readonly HistoryEvent[] {
  const owners: string[] = []
  let before: LeaseWrite | undefined
  return writes.flatMap((write): HistoryEvent[] => {
    const owner = owners.find((known) => known.startsWith(write.owner)) ?? write.owner
    owners.push(owner)
    const was = before
    before = write
    const { at, proc, state, fence, attempt, doubt, until, reason } = write
    const head = { at, proc, subject, token: owner, type: 'ok' } as const
    switch (state) {
      case 'processing':
        if (was?.state === 'processing' && was.owner === write.owner) return [{ ...head, f: 'renew', until }]
        return [{ ...head, f: 'claim', verdict: doubt ? 'taken-over' : 'claimed', fence, attempt, until }]
      case 'released':
        return [{ ...head, f: 'release', refund: was !== undefined && attempt < was.attempt, doubt }]
      case 'given-up':
      case 'parked':
        return [{ ...head, f: 'set-aside', as: state, reason }]
      case 'done':
        // The store writes it again when a mark is sent again.
        return until === undefined ? [] : [{ ...head, f: 'mark', until }]
    }
  })
}
