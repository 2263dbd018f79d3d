import type { AuditEntry, AuditPage } from '../../../src/internal.ts'
import { keyOf } from '../bytes.ts'
import type { AuditRow } from './statements.ts'

/** `rows`: one more than `limit` if there are more. */
export function auditPage(rows: readonly AuditRow[], limit: number): AuditPage {
  const entries = rows.slice(0, limit).map(entryOf)
  return { entries, next: rows.length > limit ? entries.at(-1)?.id : undefined }
}

/** The key of a note, which is about no message: the column takes no null. In hex. */
export const NO_KEY: string = '0'.repeat(32)

/** What a note has in place of a record. */
export function notedAbout(about: string): string {
  return JSON.stringify({ about })
}

function entryOf({ id, at, key, decision, by_whom: by, reason, before }: AuditRow): AuditEntry {
  const common = { id: String(id), at: Number(at), decision, by, reason }
  const about = key === NO_KEY ? aboutIn(before) : undefined
  if (about !== undefined) return { ...common, key: '', before: '', about }
  return { ...common, key: keyOf(key), before: stateIn(before), record: before ?? undefined }
}

function aboutIn(before: string | null): string | undefined {
  return before === null ? undefined : (JSON.parse(before) as { readonly about?: string }).about
}

/** Outcomes in the rows of an inbox. */
const OUTCOMES: Readonly<Record<string, string>> = { d: 'done', g: 'given-up', p: 'parked', c: 'parked' }

/** A lease was logged with its state, the row of an inbox with its outcome. */
function stateIn(before: string | null): string {
  if (before === null) return 'absent'
  const { state, outcome = '' } = JSON.parse(before) as { readonly state?: string; readonly outcome?: string }
  return state ?? OUTCOMES[outcome] ?? 'unknown'
}
