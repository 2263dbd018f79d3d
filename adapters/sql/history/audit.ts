import type { AuditEntry, AuditPage } from '../../../src/spi.ts'
import { keyOf } from '../bytes.ts'
import type { AuditRow } from './statements.ts'

/** `rows`: one more than `limit` if there are more. */
export function auditPage(rows: readonly AuditRow[], limit: number): AuditPage {
  const entries = rows.slice(0, limit).map(entryOf)
  return { entries, next: rows.length > limit ? entries.at(-1)?.id : undefined }
}

function entryOf({ id, at, key, decision, by_whom: by, reason, before }: AuditRow): AuditEntry {
  const record = before ?? undefined
  return { id: String(id), at: Number(at), key: keyOf(key), decision, by, reason, before: stateIn(before), record }
}

/** Outcomes in the rows of an inbox. */
const OUTCOMES: Readonly<Record<string, string>> = { d: 'done', g: 'given-up', p: 'parked', c: 'parked' }

/** A lease was logged with its state, the row of an inbox with its outcome. */
function stateIn(before: string | null): string {
  if (before === null) return 'absent'
  const { state, outcome = '' } = JSON.parse(before) as { readonly state?: string; readonly outcome?: string }
  return state ?? OUTCOMES[outcome] ?? 'unknown'
}
