import type { AsideStory, EpochMs, MessageRecord } from '../../../src/internal.ts'
import { keyOf, storedDigest } from '../bytes.ts'
import type { LeaseRow } from './statements.ts'

/** Converts a row into a record of `transition()`. */
export function recordOf(row: LeaseRow): MessageRecord {
  const keepUntil = row.keep_until
  if (keepUntil !== null || row.state === 'X') return recordUntil(row, keepUntil ?? 0)
  // Taken for one whose retention is over, a done message would run again.
  return 'PRDG'.includes(row.state) ? unreadable(row.state, 'keep_until') : recordUntil(row, 0)
}

function recordUntil(row: LeaseRow, keepUntil: EpochMs): MessageRecord {
  const { fence, attempt, owner, doubt } = row
  const digest = row.fp === null ? '' : keyOf(row.fp)
  const cause = row.cause ?? undefined
  switch (row.state) {
    case 'P': {
      const leaseUntil = row.lease_until
      if (leaseUntil === null) return unreadable(row.state, 'lease_until')
      return { state: 'processing', digest, fence, attempt, doubt, owner, leaseUntil, keepUntil }
    }
    case 'R': {
      const notBefore = row.not_before ?? undefined
      return { state: 'released', digest, fence, attempt, doubt, owner, notBefore, cause, keepUntil }
    }
    case 'D': {
      const [since, result] = [row.since ?? undefined, row.rest ?? undefined]
      return { state: 'done', digest, fence, owner, since, result, keepUntil }
    }
    case 'G':
      return { state: 'given-up', digest, fence, owner, ...storyOf(row), keepUntil }
    case 'X':
      return { state: 'parked', digest, fence, owner, ...storyOf(row) }
    default:
      return { state: 'unreadable', found: foundIn(row.state) }
  }
}

function storyOf({ rest, attempt, since, cause }: LeaseRow): AsideStory {
  return { reason: rest ?? '', attempt, since: since ?? undefined, cause: cause ?? undefined }
}

/** For people. */
export function foundIn(state: string): string {
  return `a lease in state '${state}', which this version does not know`
}

function unreadable(state: string, column: string): MessageRecord {
  return { state: 'unreadable', found: `a lease in state '${state}' whose ${column} is NULL` }
}

const LETTERS = { processing: 'P', released: 'R', done: 'D', 'given-up': 'G', parked: 'X' } as const

/** Converts a record into a row. `key` is in hex. `undefined`: there is no such row. */
export function rowOf(key: string, record: MessageRecord): LeaseRow | undefined {
  if (record.state === 'absent' || record.state === 'unreadable') return undefined
  const { digest, owner, fence, state } = record
  const rest = state === 'done' ? record.result : 'reason' in record ? record.reason : undefined
  return {
    key,
    fp: storedDigest(digest),
    owner,
    state: LETTERS[state],
    doubt: 'doubt' in record && record.doubt,
    fence,
    attempt: ('attempt' in record ? record.attempt : undefined) ?? 0,
    lease_until: 'leaseUntil' in record ? record.leaseUntil : null,
    keep_until: 'keepUntil' in record ? record.keepUntil : null,
    rest: rest ?? null,
    not_before: ('notBefore' in record ? record.notBefore : undefined) ?? null,
    since: ('since' in record ? record.since : undefined) ?? null,
    cause: ('cause' in record ? record.cause : undefined) ?? null,
  }
}
