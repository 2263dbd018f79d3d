import type { ListedState, MessageRecord, RecordView } from '../../src/index.ts'
import type { RecordRow } from './sql/read-records.ts'

export const OUTCOMES: Readonly<Partial<Record<ListedState, RecordRow['outcome']>>> = {
  done: 'd',
  'given-up': 'g',
  parked: 'p',
}

/** Neither fences nor ends of retention are kept with a row, so none is told. */
export function viewOfRow({ outcome, reason, result }: RecordRow): RecordView {
  switch (outcome) {
    case 'd':
      return { state: 'done', result: result ?? undefined }
    case 'g':
      return { state: 'given-up', reason: reason ?? '' }
    case 'p':
      return { state: 'parked', reason: reason ?? '' }
  }
}

/** The record as `transition()` knows it. A row that is there is kept, however old. */
export function recordOfRow({ outcome, fp, owner: writer, reason: why }: RecordRow): MessageRecord {
  const common = { digest: fp ?? '', fence: 0, owner: writer ?? '' }
  const reason = why ?? ''
  const keepUntil = Number.POSITIVE_INFINITY
  switch (outcome) {
    case 'd':
      return { state: 'done', ...common, keepUntil }
    case 'g':
      return { state: 'given-up', ...common, reason, keepUntil }
    case 'p':
      return { state: 'parked', ...common, reason }
  }
}

/** The record of a key without a row that nobody holds. */
export function recordOfAttempts(attempt: number | undefined): MessageRecord {
  if (attempt === undefined) return { state: 'absent' }
  const keepUntil = Number.POSITIVE_INFINITY
  return { state: 'released', digest: '', fence: 0, attempt, doubt: false, owner: '', keepUntil }
}
