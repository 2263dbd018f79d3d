import type { Decision } from '../../../src/spi.ts'
import { bytes, text } from './literals.ts'
import type { Tables } from './tables.ts'

export interface Decided {
  /** In hex. */
  readonly key: string
  /** The previous record. */
  readonly before: unknown
}

/** An import may overwrite a record whose retention has ended. */
const ABSENT = { state: 'absent' }

/** Logs a decision, in its transaction. Nothing removes it. */
export function auditDecision(
  { audit }: Tables,
  scope: number,
  decided: readonly Decided[],
  { decision, by, reason }: { readonly decision: Decision; readonly by: string; readonly reason: string },
): readonly string[] {
  if (decided.length === 0) return []
  const rows = decided.map(({ key, before }) => {
    const values = [
      text(decision),
      text(by),
      text(reason),
      text(JSON.stringify(decision === 'import' ? ABSENT : before)),
    ]
    return `(utc_timestamp(6), ${scope}, ${bytes(key)}, ${values.join(', ')})`
  })
  return [`insert into ${audit} (at, scope, \`key\`, decision, by_whom, reason, \`before\`) values ${rows.join(', ')}`]
}
