import type { EpochMs, MessageRecord } from '../../../src/index.ts'
import { keyOf, storedDigest } from '../bytes.ts'
import type { LeaseRow, LeaseValues } from '../sql/lease-records.ts'
import { fromHex } from '../sql/literals.ts'

type KeptRecord = Exclude<MessageRecord, { state: 'absent' }>

/** What a row says, in the words of `transition()`. */
export function recordOf(row: LeaseRow): KeptRecord {
  const { fence, attempt } = row
  const digest = row.fp === null ? '' : keyOf(row.fp)
  const owner = fromHex(row.owner)
  const rest = row.rest === null ? undefined : fromHex(row.rest)
  const doubt = row.doubt === 1
  const keepUntil = timeOf(row.keep_until_ms)
  switch (row.state) {
    case 'P': {
      const leaseUntil = timeOf(row.lease_until_ms)
      return { state: 'processing', digest, fence, attempt, doubt, owner, leaseUntil, keepUntil }
    }
    case 'R':
      return { state: 'released', digest, fence, attempt, doubt, owner, keepUntil }
    case 'D':
      return { state: 'done', digest, fence, owner, result: rest, keepUntil }
    case 'G':
      return { state: 'given-up', digest, fence, owner, reason: rest ?? '', keepUntil }
    case 'X':
      return { state: 'parked', digest, fence, owner, reason: rest ?? '' }
  }
}

/** The other way; `k` is the key in hex. */
export function valuesOf(k: string, record: KeptRecord): LeaseValues {
  const { digest, fence, owner } = record
  const shared = { k, fp: storedDigest(digest), fence, owner }
  const ended = { ...shared, attempt: 0, doubt: false, leaseUntil: undefined }
  switch (record.state) {
    case 'processing': {
      const { attempt, doubt, leaseUntil, keepUntil } = record
      return { ...shared, state: 'P', attempt, doubt, leaseUntil, keepUntil, rest: null }
    }
    case 'released': {
      const { attempt, doubt, keepUntil } = record
      return { ...shared, state: 'R', attempt, doubt, leaseUntil: undefined, keepUntil, rest: null }
    }
    case 'done':
      return { ...ended, state: 'D', keepUntil: record.keepUntil, rest: record.result ?? null }
    case 'given-up':
      return { ...ended, state: 'G', keepUntil: record.keepUntil, rest: record.reason }
    case 'parked':
      return { ...ended, state: 'X', keepUntil: undefined, rest: record.reason }
  }
}

function timeOf(ms: number | string | null): EpochMs {
  return Number(ms ?? 0)
}
