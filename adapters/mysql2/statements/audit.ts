import type { AuditedLeases } from '../../sql/lease/statements.ts'
import { bytes, text } from './literals.ts'
import type { Tables } from './tables.ts'

/** Logs a decision, in its transaction. Nothing removes it. */
export function auditDecision(
  { audit }: Tables,
  scope: number,
  decided: AuditedLeases['decided'],
  { decision, by, reason }: Omit<AuditedLeases, 'decided'>,
): readonly string[] {
  if (decided.length === 0) return []
  const rows = decided.map(({ key, before }) => {
    const values = [decision, by, reason, JSON.stringify(before)].map(text)
    return `(utc_timestamp(6), ${scope}, ${bytes(key)}, ${values.join(', ')})`
  })
  return [`insert into ${audit} (at, scope, \`key\`, decision, by_whom, reason, \`before\`) values ${rows.join(', ')}`]
}
