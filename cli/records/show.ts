import { type Key, type RecordRef, type RecordView } from '../../src/index.ts'
import { durationText } from '../../src/internal.ts'
import type { FoundMessage } from '../../src/replay/find/find.ts'
import { ageOf } from '../age.ts'
import { table, type Style } from '../output.ts'
import { dateOf } from './date.ts'
import { letterJson, placeOf } from './letter.ts'
import { nameOf } from './refs.ts'

/** A record with its reference, for output. */
export interface Shown extends RecordView {
  readonly ref?: RecordRef
  readonly key: Key
  readonly origin?: string | undefined
  readonly idempotencyKey?: string | undefined
  /** Its dead letters, if somebody looked for them. */
  readonly letters?: readonly FoundMessage[]
}

export function recordJson(shown: Shown): Record<string, unknown> {
  // The digest of a short payload can be guessed from.
  const {
    ref,
    key,
    idempotencyKey,
    letters,
    origin,
    digest: _,
    since,
    notBefore,
    leaseLeftMs,
    keepUntil,
    ...record
  } = shown
  const isById = typeof ref === 'string'
  return {
    ...(isById ? { id: ref } : {}),
    key,
    idempotency_key: idempotencyKey,
    origin,
    ...record,
    since: dateOf(since),
    not_before: dateOf(notBefore),
    lease_left_ms: leaseLeftMs,
    keep_until: dateOf(keepUntil),
    dead_letters: letters?.map(letterJson),
  }
}

export function recordTable(records: readonly Shown[]): string {
  const rows = records.map((record) => COLUMNS.map(([, cellOf]) => cellOf(record)))
  return table(
    COLUMNS.map(([head]) => head),
    rows,
    (cell) => STYLES[cell],
  )
}

/** States that wait for a person, or for a fault to be mended. */
const STYLES: Readonly<Record<string, Style>> = { parked: 'yellow', 'in-doubt': 'yellow', 'given-up': 'red' }

export function stateCell({ state, scope }: Pick<Shown, 'state' | 'scope'>): string {
  if (scope === 'another') return 'of another consumer'
  return scope === 'unknown' && state !== 'done' ? `${state} (of unknown scope)` : state
}

const COLUMNS: readonly (readonly [head: string, cellOf: (record: Shown) => string])[] = [
  ['ID', ({ ref }) => (typeof ref === 'string' ? nameOf(ref) : '')],
  ['KEY', ({ key }) => key],
  ['ORIGIN', ({ origin }) => origin ?? ''],
  ['STATE', stateCell],
  ['ATTEMPT', ({ attempt }) => String(attempt ?? '')],
  ['SINCE', ({ since }) => dateOf(since) ?? ''],
  ['AGE', ({ since }) => ageOf(since)],
  ['FENCE', ({ fence }) => String(fence ?? '')],
  [
    'LEASE LEFT',
    ({ leaseLeftMs }) => (leaseLeftMs === undefined ? '' : durationText(Math.ceil(leaseLeftMs / 1_000) * 1_000)),
  ],
  ['NOT BEFORE', ({ notBefore }) => dateOf(notBefore) ?? ''],
  ['KEPT UNTIL', ({ keepUntil }) => dateOf(keepUntil) ?? ''],
  ['TRACE', ({ trace }) => trace?.split('-')[1] ?? ''],
  ['REASON', ({ reason }) => reason ?? ''],
  ['CAUSE', ({ cause, found }) => cut(cause ?? found ?? '')],
  ['DEAD LETTER', ({ letters: [first, ...others] = [] }) => (first === undefined ? '' : deadLetterCell(first, others))],
  ['IDEMPOTENCY KEY', ({ idempotencyKey }) => idempotencyKey ?? ''],
]

function deadLetterCell(first: FoundMessage, others: readonly FoundMessage[]): string {
  return `${placeOf(first)}${others.length === 0 ? '' : ` and ${others.length} more`}`
}

/** Length of a cause in a table. JSON has all of it. */
const SHOWN_OF_A_CAUSE = 100

function cut(text: string): string {
  return text.length > SHOWN_OF_A_CAUSE ? `${text.slice(0, SHOWN_OF_A_CAUSE)}…` : text
}
