import type { HistoryEvent } from '../../../testing/history.ts'

/** A record of a lease as its store wrote it. */
export interface LeaseWrite {
  readonly at: number
  /** The server. */
  readonly proc: string
  readonly state: 'processing' | 'released' | 'done' | 'given-up' | 'parked'
  readonly fence: number
  readonly attempt: number
  readonly doubt: boolean
  /** Of what is done, its beginning may be all that is kept. */
  readonly owner: string
  /** True time until which the lease holds, or the record is kept; `undefined`: nothing is known of it. */
  readonly until: number | undefined
  readonly reason: string
}

/** What the writes of one record mean, in the order in which its store made them. */
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
        // Written once more where a mark is sent again.
        return until === undefined ? [] : [{ ...head, f: 'mark', until }]
    }
  })
}
