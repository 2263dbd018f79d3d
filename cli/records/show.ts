import { durationText, type Key, type RecordRef, type RecordView } from '../../src/index.ts'
import { table } from '../output.ts'
import { nameOf } from './refs.ts'

/** A record on its way to a person. */
export interface Shown extends RecordView {
  readonly ref?: RecordRef
  readonly key: Key
  readonly origin?: string | undefined
}

export function recordJson({ ref, key, origin, leaseLeftMs, keepUntil, ...record }: Shown): Record<string, unknown> {
  const isById = typeof ref === 'string'
  return {
    ...(isById ? { id: ref } : {}),
    key,
    origin,
    ...record,
    lease_left_ms: leaseLeftMs,
    keep_until: dateOf(keepUntil),
  }
}

export function recordTable(records: readonly Shown[]): string {
  const heads = ['ID', 'KEY', 'ORIGIN', 'STATE', 'ATTEMPT', 'FENCE', 'LEASE LEFT', 'KEPT UNTIL', 'REASON']
  const rows = records.map(({ ref, key, origin, state, attempt, fence, leaseLeftMs, keepUntil, reason }) => [
    typeof ref === 'string' ? nameOf(ref) : '',
    key,
    origin ?? '',
    state,
    String(attempt ?? ''),
    String(fence ?? ''),
    leaseLeftMs === undefined ? '' : durationText(Math.ceil(leaseLeftMs / 1_000) * 1_000),
    dateOf(keepUntil) ?? '',
    reason ?? '',
  ])
  return table(heads, rows)
}

function dateOf(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString()
}
