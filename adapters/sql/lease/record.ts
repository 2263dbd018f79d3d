import type { AsideStory, EpochMs, MessageRecord } from '../../../src/spi.ts'
import { keyOf, storedDigest } from '../bytes.ts'
import type { LeaseRow, LeaseValues } from './statements.ts'

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

/** The records that can be written. */
type WrittenRecord = Exclude<MessageRecord, { state: 'absent' | 'unreadable' }>

/** Converts a record into the values of a row. `key` is in hex. */
export function valuesOf(key: string, record: WrittenRecord): LeaseValues {
  const { digest, fence, owner } = record
  const shared = { key, fp: storedDigest(digest), fence, owner }
  switch (record.state) {
    case 'processing': {
      const { attempt, doubt, leaseUntil, keepUntil } = record
      return { ...shared, state: 'P', attempt, doubt, leaseUntil, keepUntil }
    }
    case 'released': {
      const { attempt, doubt, notBefore, cause, keepUntil } = record
      return { ...shared, state: 'R', attempt, doubt, notBefore, cause, keepUntil }
    }
    case 'done': {
      const { since, result: rest, keepUntil } = record
      return { ...shared, state: 'D', attempt: 0, since, keepUntil, rest }
    }
    case 'given-up':
      return { ...shared, state: 'G', ...toldOf(record), keepUntil: record.keepUntil }
    case 'parked':
      return { ...shared, state: 'X', ...toldOf(record) }
  }
}

function toldOf({
  reason: rest,
  attempt = 0,
  since,
  cause,
}: AsideStory): Pick<LeaseValues, 'attempt' | 'rest' | 'since' | 'cause'> {
  return { rest, attempt, since, cause }
}
