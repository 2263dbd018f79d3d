import { viewOf, type MessageRecord, type RecordView } from '../../src/index.ts'

/** What the script LOOK answered, as a person is shown it; `undefined` for what this library has not written. */
export function readLook(answer: string): RecordView | 'other' | undefined {
  if (answer === 'absent') return { state: 'absent' }
  if (answer === 'other') return 'other'
  const [, now, ttl, value] = /^(\d+)\|(-?\d+)\|(.*)$/s.exec(answer) ?? []
  if (value === undefined) return undefined
  const record = recordOf(value, Number(now) + Number(ttl))
  return record && viewOf(record, Number(now))
}

function recordOf(value: string, keepUntil: number): MessageRecord | undefined {
  const { state, fence, attempt, doubt, digest, owner, rest } = fieldsOf(value) ?? {}
  if (digest === undefined || owner === undefined || rest === undefined) return undefined
  const shared = { digest, owner, fence: Number(fence) }
  switch (state) {
    case 'P': {
      const held = { attempt: Number(attempt), doubt: doubt === '1', leaseUntil: Number(rest), keepUntil }
      return { state: 'processing', ...shared, ...held }
    }
    case 'R':
      return { state: 'released', ...shared, attempt: Number(attempt), doubt: doubt === '1', keepUntil }
    case 'D':
    case 'd':
      return { state: 'done', ...shared, result: rest === '' ? undefined : rest, keepUntil }
    case 'G':
      return { state: 'given-up', ...shared, reason: rest, keepUntil }
    case 'X':
      return { state: 'parked', ...shared, reason: rest }
    case undefined:
    default:
      return undefined
  }
}

/** As scripts/script.ts has it. */
const LONG =
  /^(?<state>[PRDGX])\|(?<fence>\d+)\|(?<attempt>\d+)\|(?<doubt>[01])\|(?<digest>[^|]*)\|(?<owner>[^|]*)\|(?<rest>.*)$/s
const SHORT = /^(?<state>d)(?<fence>[1-9])(?<digest>.{22})(?<owner>.{4})(?<rest>.*)$/s

function fieldsOf(value: string): Record<string, string | undefined> | undefined {
  return (LONG.exec(value) ?? SHORT.exec(value))?.groups
}
