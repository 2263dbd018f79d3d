import type { AsideStory, ListedState, MessageRecord, RecordView } from '../../../src/spi.ts'
import { keyOf } from '../../sql/bytes.ts'
import type { TriedRow } from './statements/attempts.ts'
import type { InboxRow } from './statements/records.ts'
import { fromHex } from '../statements/literals.ts'

/** The row of a running message is not visible, and no record of an inbox is ever in doubt. */
export const OUTCOMES: Readonly<Record<ListedState, readonly string[]>> = {
  processing: [],
  'in-doubt': [],
  done: ['d'],
  'given-up': ['g'],
  parked: ['p', 'c'],
}

/**
 * A visible claimed row was committed without a mark: a handler has ended the transaction itself, as DDL does in MySQL.
 * The handler's earlier writes were committed too, and it is unknown how many.
 */
const TORN = 'transaction-torn: a handler committed its transaction by itself (DDL, LOCK TABLES, COMMIT)'

type Kept = Extract<MessageRecord, { state: 'done' | 'given-up' | 'parked' | 'unreadable' }>

/** The record in terms of `transition()`. A row that exists is kept, however old. */
export function recordOf({ outcome, fp, owner: writer, reason, result, ...row }: InboxRow): Kept {
  const common = { digest: fp === null ? '' : keyOf(fp), fence: 0, owner: fromHex(writer) }
  const keepUntil = Number.POSITIVE_INFINITY
  const story = (why: string): AsideStory => {
    const cause = row.cause === null ? undefined : fromHex(row.cause)
    return { reason: why, attempt: row.attempt ?? undefined, since: Number(row.since_ms), cause }
  }
  switch (outcome) {
    case 'd':
      return { state: 'done', ...common, result: result === null ? undefined : fromHex(result), keepUntil }
    case 'g':
      return { state: 'given-up', ...common, ...story(fromHex(reason ?? '')), keepUntil }
    case 'p':
      return { state: 'parked', ...common, ...story(fromHex(reason ?? '')) }
    case 'c':
      return { state: 'parked', ...common, ...story(TORN) }
    default:
      return { state: 'unreadable', found: `a record of outcome '${outcome}', which this version does not know` }
  }
}

/** The record of a key without a row, which nobody holds. */
export function recordOfAttempts(row: TriedRow | undefined): MessageRecord {
  if (row === undefined) return { state: 'absent' }
  const kept = { digest: row.fp === null ? '' : keyOf(row.fp), fence: 0, attempt: row.n, doubt: false, owner: '' }
  const notBefore = row.not_before_ms === null ? undefined : Number(row.not_before_ms)
  const cause = row.cause === null ? undefined : fromHex(row.cause)
  return { state: 'released', ...kept, notBefore, cause, keepUntil: Number.POSITIVE_INFINITY }
}

/** A row has no fence and no end of retention, so the view has none. */
export function seen(record: Kept): RecordView {
  if (record.state === 'done') return { state: 'done', result: record.result }
  if (record.state === 'unreadable') return record
  const { state, reason, attempt, since, cause } = record
  return { state, reason, attempt, since, cause }
}
