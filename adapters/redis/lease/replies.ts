import type {
  ClaimVerdict,
  DecideVerdict,
  MarkVerdict,
  ReleaseVerdict,
  RenewVerdict,
  SetAsideVerdict,
} from '../../../src/spi.ts'
import { StoreError } from '../../../src/spi.ts'
import { storyIn, whatIsThere } from './records.ts'
import type { Letters } from './scripts/script.ts'

/** Parses a script's answer for an item; `undefined` if it is not a valid answer. */
export type ReadAnswer<Item, T> = (answer: string, item: Item) => T | undefined

export const readRenew: ReadAnswer<unknown, RenewVerdict> = oneOf('renewed', 'lost')
export const readMark: ReadAnswer<unknown, MarkVerdict> = oneOf(
  'marked',
  'already-marked',
  'marked-late',
  'refused-busy',
  'refused-done',
)
export const readRelease: ReadAnswer<unknown, ReleaseVerdict> = oneOf('released', 'already-released', 'refused')
export const readDecide: ReadAnswer<unknown, DecideVerdict> = oneOf('decided', 'already', 'refused')
export const readSetAside: ReadAnswer<unknown, SetAsideVerdict> = oneOf('given-up', 'parked', 'refused')

/** The answer to nearly every claim. */
const FIRST_CLAIM: ClaimVerdict = { verdict: 'claimed', fence: 1, attempt: 1 }
const DONE_WITHOUT_RESULT: ClaimVerdict = { verdict: 'done', result: undefined }

export function readClaim(answer: string): ClaimVerdict | undefined {
  if (answer === 'claimed|1|1') return FIRST_CLAIM
  if (answer === 'done|') return DONE_WITHOUT_RESULT
  const [, verdict, rest] = /^([a-z-]+)(?:\|(.*))?$/s.exec(answer) ?? []
  switch (verdict) {
    case 'claimed':
    case 'taken-over': {
      const [, fence, attempt] = /^(\d+)\|(\d+)$/.exec(rest ?? '') ?? []
      return fence === undefined ? undefined : { verdict, fence: Number(fence), attempt: Number(attempt) }
    }
    case 'busy':
      return /^\d+$/.test(rest ?? '') ? { verdict, leaseLeftMs: Number(rest) } : undefined // mutant: busy-read-as-done
    case 'in-doubt':
    case 'conflict':
      return rest === undefined ? { verdict } : undefined
    case 'done':
      return rest === undefined ? undefined : { verdict, result: rest === '' ? undefined : rest }
    case 'given-up':
    case 'parked': {
      const [, attempt, owner, reason] = /^(\d+)\|([^|]*)\|(.*)$/s.exec(rest ?? '') ?? []
      return owner === undefined || reason === undefined
        ? undefined
        : { verdict, reason, attempt: Number(attempt), ...storyIn(owner) }
    }
    case 'unreadable': {
      const [, type, bytes] = /^([^|]+)\|(\d*)$/.exec(rest ?? '') ?? []
      return type === undefined ? undefined : { verdict, found: whatIsThere(type, bytes) }
    }
    case undefined:
    default:
      return undefined
  }
}

interface Asked<Item, T> {
  readonly items: readonly Item[]
  /** Meaning of the letters in the first answer; `undefined`: each item has its own answer. */
  readonly letters: Letters | undefined
  readonly read: ReadAnswer<Item, T>
}

/** Checks that there is one answer of a known form for each item. Any other reply proves nothing. */
export function readReply<Item, T>(reply: unknown, { items, letters, read }: Asked<Item, T>): readonly T[] {
  const answers = letters === undefined ? reply : spelledOut(reply, items.length, letters)
  if (!Array.isArray(answers) || answers.length !== items.length) throw strange(items.length, reply)
  return items.map((item, at) => {
    const answer: unknown = answers[at]
    const known = typeof answer === 'string' ? read(answer, item) : undefined
    if (known === undefined) throw strange(items.length, answer)
    return known
  })
}

/** One answer for each letter; `undefined` if letters and answers do not match. */
function spelledOut(reply: unknown, items: number, letters: Letters): readonly unknown[] | undefined {
  if (!Array.isArray(reply)) return undefined
  const [text, ...own]: unknown[] = reply
  if (typeof text !== 'string' || text.length !== items) return undefined
  let next = 0
  const answers: unknown[] = []
  for (let at = 0; at < items; at++) {
    const letter = text.charAt(at)
    answers.push(letter === '-' ? own[next++] : letters[letter])
  }
  return next === own.length ? answers : undefined // mutant: redis-answers-uncounted
}

function strange(count: number, got: unknown): StoreError {
  const shown = JSON.stringify(got)?.slice(0, 100) ?? typeof got
  return new StoreError('STORE_AMBIGUOUS', `Redis: expected ${count} answers of a known form, got ${shown}`)
}

function oneOf<T extends string>(...known: readonly T[]): ReadAnswer<unknown, T> {
  const byText = new Map<string, T>(known.map((one) => [one, one]))
  return (answer) => byText.get(answer)
}
