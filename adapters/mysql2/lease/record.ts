import type { AsideStory, EpochMs, MessageRecord } from '../../../src/spi.ts'
import { keyOf, storedDigest } from '../../sql/bytes.ts'
import type { LeaseRow, LeaseValues } from './statements/records.ts'
import { fromHex } from '../statements/literals.ts'

/** Converts a row into a record of `transition()`. */
export function recordOf(row: LeaseRow): MessageRecord {
  const keepUntil = timeOf(row.keep_until_ms)
  if (keepUntil !== undefined || row.state === 'X') return recordUntil(row, keepUntil ?? 0)
  // Taken for one whose retention is over, a done message would run again.
  return 'PRDG'.includes(row.state) ? unreadable(row.state, 'keep_until') : recordUntil(row, 0)
}

function recordUntil(row: LeaseRow, keepUntil: EpochMs): MessageRecord {
  const { fence, attempt } = row
  const digest = row.fp === null ? '' : keyOf(row.fp)
  const owner = fromHex(row.owner)
  const doubt = row.doubt === 1
  const cause = textOf(row.cause)
  const story = (): AsideStory => ({ reason: textOf(row.rest) ?? '', attempt, since: timeOf(row.since_ms), cause })
  switch (row.state) {
    case 'P': {
      const leaseUntil = timeOf(row.lease_until_ms)
      if (leaseUntil === undefined) return unreadable(row.state, 'lease_until')
      return { state: 'processing', digest, fence, attempt, doubt, owner, leaseUntil, keepUntil }
    }
    case 'R': {
      const notBefore = timeOf(row.not_before_ms)
      return { state: 'released', digest, fence, attempt, doubt, owner, notBefore, cause, keepUntil }
    }
    case 'D':
      return { state: 'done', digest, fence, owner, since: timeOf(row.since_ms), result: textOf(row.rest), keepUntil }
    case 'G':
      return { state: 'given-up', digest, fence, owner, ...story(), keepUntil }
    case 'X':
      return { state: 'parked', digest, fence, owner, ...story() }
    default:
      return { state: 'unreadable', found: `a lease in state '${row.state}', which this version does not know` }
  }
}

function unreadable(state: string, column: string): MessageRecord {
  return { state: 'unreadable', found: `a lease in state '${state}' whose ${column} is NULL` }
}

/** The records that can be written. */
export type WrittenRecord = Exclude<MessageRecord, { state: 'absent' | 'unreadable' }>

/** Converts a record into the values of a row. `k` is the key in hex. */
export function valuesOf(k: string, record: WrittenRecord): LeaseValues {
  const { digest, fence, owner } = record
  const shared = { k, fp: storedDigest(digest), fence, owner }
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

function timeOf(ms: number | string | null): EpochMs | undefined {
  return ms === null ? undefined : Number(ms)
}

function textOf(hex: string | null): string | undefined {
  return hex === null ? undefined : fromHex(hex)
}
