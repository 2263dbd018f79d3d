import { tagIn } from './owners.ts'
import { countedText, viewOf, type AsideStory, type MessageRecord, type RecordView } from '../../../src/internal.ts'

/**
 * Parses an answer of the script LOOK; `undefined` if it is not a valid answer. A record of a scope with another tag is
 * not shown.
 */
export function readLook(answer: string, tag: string): RecordView | 'other' | undefined {
  if (answer === 'absent') return { state: 'absent' }
  if (answer === 'other') return 'other'
  const [, type] = /^type\|(.+)$/.exec(answer) ?? []
  if (type !== undefined) return { state: 'unreadable', found: whatIsThere(type) }
  const [, now, ttl, since, value] = /^(\d+)\|(-?\d+)\|(\d*)\|(.*)$/s.exec(answer) ?? []
  if (value === undefined) return undefined
  const times = { keepUntil: Number(now) + Number(ttl), markedAt: since ? Number(since) : undefined }
  const record = recordOf(value, times) ?? {
    state: 'unreadable',
    found: whatIsThere('string', String(Buffer.byteLength(value))),
  }
  return seenFrom(tag, value, viewOf(record, Number(now)))
}

function seenFrom(tag: string, value: string, view: RecordView): RecordView {
  if (view.state === 'unreadable' || view.state === 'absent') return view
  const own = tagIn(fieldsOf(value)?.['owner'] ?? '')
  if (own === undefined) return { ...view, scope: 'unknown' }
  return own === tag ? view : { state: 'absent', scope: 'another' } // mutant: redis-shows-all-scopes
}

/** For people. Quotes nothing of the value itself, which may belong to another program. */
export function whatIsThere(type: string, bytes: string = ''): string {
  return bytes === ''
    ? `a ${type}, where a string was expected`
    : `a string of ${countedText(Number(bytes), 'byte')} that this version cannot read`
}

/** Parses the fields after the token of a record that was set aside (scripts/script.ts). */
export function storyIn(owner: string): Pick<AsideStory, 'since' | 'cause'> {
  const [, since, cause] = /^[^\n]*\n(\d+)\n(.*)$/s.exec(owner) ?? []
  if (since === undefined || cause === undefined) return {}
  return { since: Number(since), cause: textOf(cause.replaceAll('%7C', '|').replaceAll('%25', '%')) }
}

/** `undefined` if the text is empty. */
function textOf(text: string): string | undefined {
  return text === '' ? undefined : text
}

function recordOf(
  value: string,
  { keepUntil, markedAt }: { readonly keepUntil: number; readonly markedAt: number | undefined },
): MessageRecord | undefined {
  const { state, fence, attempt, doubt, digest, owner, rest } = fieldsOf(value) ?? {}
  if (digest === undefined || owner === undefined || rest === undefined) return undefined
  const shared = { digest, owner, fence: Number(fence) }
  switch (state) {
    case 'P': {
      if (!/^\d+$/.test(rest)) return undefined
      const held = { attempt: Number(attempt), doubt: doubt === '1', leaseUntil: Number(rest), keepUntil }
      return { state: 'processing', ...shared, ...held }
    }
    case 'R': {
      const [, notBefore, cause = ''] = /^(\d+)\|(.*)$/s.exec(rest) ?? []
      const waits = { notBefore: Number(notBefore ?? 0), cause: textOf(cause) }
      return { state: 'released', ...shared, attempt: Number(attempt), doubt: doubt === '1', ...waits, keepUntil }
    }
    case 'D':
    case 'd':
      return { state: 'done', ...shared, since: markedAt, result: textOf(rest), keepUntil }
    case 'G':
      return { state: 'given-up', ...shared, reason: rest, attempt: Number(attempt), ...storyIn(owner), keepUntil }
    case 'X':
      return { state: 'parked', ...shared, reason: rest, attempt: Number(attempt), ...storyIn(owner) }
    case undefined:
    default:
      return undefined
  }
}

/** The formats of scripts/script.ts. */
const LONG =
  /^(?<state>[PRDGX])\|(?<fence>\d+)\|(?<attempt>\d+)\|(?<doubt>[01])\|(?<digest>[^|]*)\|(?<owner>[^|]*)\|(?<rest>.*)$/s
const SHORT = /^(?<state>d)(?<fence>[1-9])(?<digest>.{22})(?<owner>.{4})(?<rest>.*)$/s

function fieldsOf(value: string): Record<string, string | undefined> | undefined {
  return (LONG.exec(value) ?? SHORT.exec(value))?.groups
}
