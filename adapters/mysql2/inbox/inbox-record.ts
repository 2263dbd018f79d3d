import type { ListedState, MessageRecord, RecordView } from '../../../src/index.ts'
import { keyOf } from '../bytes.ts'
import type { InboxRow } from '../sql/inbox-records.ts'
import { fromHex } from '../sql/literals.ts'

/** What is being handled is a row that nobody sees, and nothing is ever in doubt. */
export const OUTCOMES: Readonly<Record<ListedState, readonly InboxRow['outcome'][]>> = {
  processing: [],
  'in-doubt': [],
  done: ['d'],
  'given-up': ['g'],
  parked: ['p', 'c'],
}

/**
 * A claimed row that is seen from outside was committed without a mark: a handler has ended the transaction by itself, as DDL
 * does in MySQL. What it had written until then is committed too, and nobody knows how much that is.
 */
const TORN = 'transaction-torn: a handler committed its transaction by itself (DDL, LOCK TABLES, COMMIT)'

type Kept = Extract<MessageRecord, { state: 'done' | 'given-up' | 'parked' }>

/** The record as `transition()` knows it. A row that is there is kept, however old. */
export function recordOf({ outcome, fp, owner: writer, reason, result }: InboxRow): Kept {
  const common = { digest: fp === null ? '' : keyOf(fp), fence: 0, owner: fromHex(writer) }
  const keepUntil = Number.POSITIVE_INFINITY
  switch (outcome) {
    case 'd':
      return { state: 'done', ...common, result: result === null ? undefined : fromHex(result), keepUntil }
    case 'g':
      return { state: 'given-up', ...common, reason: fromHex(reason ?? ''), keepUntil }
    case 'p':
      return { state: 'parked', ...common, reason: fromHex(reason ?? '') }
    case 'c':
      return { state: 'parked', ...common, reason: TORN }
  }
}

/** The record of a key without a row that nobody holds. */
export function recordOfAttempts(attempt: number | undefined): MessageRecord {
  if (attempt === undefined) return { state: 'absent' }
  const keepUntil = Number.POSITIVE_INFINITY
  return { state: 'released', digest: '', fence: 0, attempt, doubt: false, owner: '', keepUntil }
}

/** Neither fences nor ends of retention are kept with a row, so none is told. */
export function seen(record: Kept): RecordView {
  if (record.state === 'done') return { state: 'done', result: record.result }
  return { state: record.state, reason: record.reason }
}
