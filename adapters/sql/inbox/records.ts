import type { AsideStory, ListedState, MessageRecord, RecordView } from '../../../src/internal.ts'
import { keyOf } from '../bytes.ts'
import type { AttemptRow, RecordRow } from './statements.ts'

/** Outcomes that can be listed. */
export type Outcome = 'd' | 'g' | 'p'

export const OUTCOMES: Readonly<Partial<Record<ListedState, Outcome>>> = {
  done: 'd',
  'given-up': 'g',
  parked: 'p',
}

type Kept = Extract<MessageRecord, { state: 'done' | 'given-up' | 'parked' | 'unreadable' }>

/** A row has no fence and no end of retention, so the view has none. */
export function viewOfRow(row: RecordRow): RecordView {
  const record = recordOfRow(row)
  if (record.state === 'unreadable') return record
  if (record.state === 'done')
    return { state: record.state, digest: record.digest, since: record.since, result: record.result }
  const { state, digest, reason, attempt, since, cause } = record
  return { state, digest, reason, attempt, since, cause }
}

/** The record in terms of `transition()`. A row that exists is kept, however old. */
export function recordOfRow(row: RecordRow): Kept {
  const { outcome, fp, since, result } = row
  const digest = fp === null ? '' : keyOf(fp)
  const owner = row.owner ?? ''
  const keepUntil = Number.POSITIVE_INFINITY
  // One for each duplicate: a spread would take longer than all else.
  if (outcome === 'd') return { state: 'done', digest, fence: 0, owner, since, result: result ?? undefined, keepUntil }
  const common = { digest, fence: 0, owner }
  switch (outcome) {
    case 'g':
      return { state: 'given-up', ...common, ...storyOf(row), keepUntil }
    case 'p':
      return { state: 'parked', ...common, ...storyOf(row) }
    default:
      return { state: 'unreadable', found: `a record of outcome '${outcome}', which this version does not know` }
  }
}

function storyOf({
  reason,
  attempt,
  since,
  cause,
}: Pick<RecordRow, 'reason' | 'attempt' | 'since' | 'cause'>): AsideStory {
  return { reason: reason ?? '', attempt: attempt ?? undefined, since, cause: cause ?? undefined }
}

/** The record of a key without a row, which nobody holds. */
export function recordOfAttempts(row: AttemptRow | undefined): MessageRecord {
  if (row === undefined) return { state: 'absent' }
  const kept = { digest: row.fp === null ? '' : keyOf(row.fp), fence: 0, attempt: row.n, doubt: false, owner: '' }
  const { not_before: notBefore, cause } = row
  const keepUntil = Number.POSITIVE_INFINITY
  return { state: 'released', ...kept, notBefore: notBefore ?? undefined, cause: cause ?? undefined, keepUntil }
}
