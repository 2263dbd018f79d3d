import { atOnce } from '../../src/foundation/at-once.ts'
import type { ReplayItem } from '../../src/ports/replay.ts'
import type { ShownMessage } from '../api.ts'
import type { DashboardOptions } from './options.ts'

const LONGEST_PAYLOAD = 16_384
const LONGEST_HEADER = 1_024
const MOST_HEADERS = 100
const HIDDEN = '***'

const REDACT_AT_ONCE = 'return the text that may be shown'

type How = Pick<DashboardOptions, 'showPayload' | 'redact'>

/** Without what the audit has of it. */
export type Seen = Omit<ShownMessage, 'unnoted'>

/** Decided for each consumer. */
export function maySeePayload({ showPayload = false }: How, consumer: string): boolean {
  return typeof showPayload === 'boolean' ? showPayload : showPayload.includes(consumer)
}

export function shownMessage(item: ReplayItem, how: How, consumer: string): Seen {
  const { part, position, message, timestamp } = item
  const { value, headers, origin } = message
  const place = { part, position, origin, timestamp, bytes: value?.length }
  if (!maySeePayload(how, consumer))
    return { ...place, payload: undefined, isCut: false, headers: undefined, unmatched: [] }
  const payload = value === null ? undefined : payloadText(value, how, consumer)
  return {
    ...place,
    payload: payload?.slice(0, LONGEST_PAYLOAD),
    isCut: (payload?.length ?? 0) > LONGEST_PAYLOAD,
    headers: Object.entries(headers)
      .slice(0, MOST_HEADERS)
      .map(([name, given]) => ({ name, value: headerText(name, given, how, consumer) })),
    unmatched: unmatchedIn(value, Object.keys(headers), how),
  }
}

/** Names that are to be hidden, and that nothing of this message has: a misspelt one hides nothing. */
function unmatchedIn(value: Uint8Array | null, headers: readonly string[], { redact = [] }: How): readonly string[] {
  if (typeof redact === 'function' || redact.length === 0) return []
  const found = new Set(headers.map((name) => name.toLowerCase()))
  try {
    JSON.parse(Buffer.from(value ?? '').toString('utf8'), (name) => void found.add(name.toLowerCase()))
  } catch {
    // Not JSON: all of it is hidden.
    return []
  }
  return redact.filter((name) => !found.has(name.toLowerCase()))
}

/** Redacted as a whole, and cut only then: a cut text is not JSON any more. */
function payloadText(value: Uint8Array, { redact = [] }: How, consumer: string): string {
  const text = Buffer.from(value).toString('utf8')
  if (typeof redact === 'function') return atOnce('redact', redact(text, { consumer, part: 'payload' }), REDACT_AT_ONCE)
  if (redact.length === 0) return text
  const names = new Set(redact.map((name) => name.toLowerCase()))
  try {
    return JSON.stringify(JSON.parse(text), (name, field: unknown) => (names.has(name.toLowerCase()) ? HIDDEN : field))
  } catch {
    return '*** (not JSON: hidden, because fields of it are to be hidden)'
  }
}

function headerText(name: string, given: unknown, { redact = [] }: How, consumer: string): string {
  const text = textOf(given)
  const shown =
    typeof redact === 'function'
      ? atOnce('redact', redact(text, { consumer, part: 'header', name }), REDACT_AT_ONCE)
      : redact.some((one) => one.toLowerCase() === name.toLowerCase())
        ? HIDDEN
        : text
  return shown.slice(0, LONGEST_HEADER)
}

function textOf(given: unknown): string {
  if (given instanceof Uint8Array) return Buffer.from(given).toString('utf8')
  if (Array.isArray(given)) return given.map(textOf).join(', ')
  if (typeof given === 'string') return given
  return JSON.stringify(given, (_, field: unknown) => (typeof field === 'bigint' ? String(field) : field)) ?? ''
}
