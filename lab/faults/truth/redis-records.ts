import type { Written } from '../stage/redis-side.ts'
import { trueTimeOf } from '../stage/wall-clock.ts'
import type { LeaseWrite } from './lease-writes.ts'

/** Long form of a record, see adapters/redis/scripts/script.ts. The tag of its scope follows the owner, and in a record set aside its history after a line break. */
const LONG =
  /^(?<state>[PRDGX])\|(?<fence>\d+)\|(?<attempt>\d+)\|(?<doubt>[01])\|[^|]*\|(?<owner>[^|~\\\n]*)[^|]*\|(?<rest>.*)$/s
/** Short form of a done record, with the beginning of the owner. */
const SHORT = /^d(?<fence>[1-9]).{22}(?<owner>.{4})/s

const STATES = { P: 'processing', R: 'released', D: 'done', G: 'given-up', X: 'parked' } as const

export function leaseWriteOf({ at, value, keptMs }: Written): LeaseWrite {
  const short = SHORT.exec(value)?.groups
  const groups: Record<string, string> | undefined =
    short === undefined ? LONG.exec(value)?.groups : { ...short, state: 'D' }
  const { state: code = '', fence, attempt, doubt, owner = '', rest = '' } = groups ?? {}
  const state = STATES[code as keyof typeof STATES]
  if (state === undefined) throw new Error(`expected a record in Redis, found ${value}`)
  const kept = keptMs === undefined ? undefined : at + keptMs
  const until = state === 'processing' ? trueTimeOf(Number(rest)) : kept
  const numbers = { fence: Number(fence), attempt: Number(attempt ?? 0) }
  // The history of a record set aside follows the token after a line break, which MONITOR prints as two characters.
  const [token = ''] = owner.split('\\n')
  return { at, proc: 'redis', state, ...numbers, doubt: doubt === '1', owner: token, until, reason: rest }
}
