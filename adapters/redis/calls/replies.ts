import type {
  ClaimVerdict,
  DecideVerdict,
  MarkVerdict,
  ReleaseVerdict,
  RenewVerdict,
  SetAsideVerdict,
} from '../../../src/internal.ts'
import { StoreError } from '../../../src/internal.ts'
import { storyIn, whatIsThere } from '../records/records.ts'
import { FILLED_CHARACTERS, type Letters } from '../scripts/script.ts'

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

export function readClaim(answer: string): ClaimVerdict | undefined {
  if (answer === 'claimed|1|1') return FIRST_CLAIM
  if (answer.startsWith('done|')) return readDone(answer)
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

/** One for each duplicate: the groups of a pattern would take longer than all else. */
function readDone(answer: string): ClaimVerdict | undefined {
  const from = 'done|'.length
  const bar = answer.indexOf('|', from)
  const since = answer.slice(from, bar)
  if (bar === -1 || !/^\d*$/.test(since)) return undefined
  return {
    verdict: 'done',
    result: bar + 1 === answer.length ? undefined : answer.slice(bar + 1),
    since: since === '' ? undefined : Number(since),
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
  const all: T[] = []
  for (const item of items) {
    const answer: unknown = answers[all.length]
    const known = typeof answer === 'string' ? read(answer, item) : undefined
    if (known === undefined) throw strange(items.length, answer)
    all.push(known)
  }
  return all
}

/** One answer for each letter; `undefined` if letters and answers do not match. */
function spelledOut(reply: unknown, items: number, letters: Letters): readonly unknown[] | undefined {
  if (!Array.isArray(reply)) return undefined
  const [text, ...own]: unknown[] = reply
  if (typeof text !== 'string') return undefined
  let [at, next] = [0, 0]
  const answers: unknown[] = []
  while (answers.length < items) {
    const letter = text.charAt(at++)
    const answer = letters[letter]
    if (letter === '-') answers.push(own[next++])
    else if (answer?.includes('#') === true) {
      answers.push(answer.replace('#', text.slice(at, at + FILLED_CHARACTERS)))
      at += FILLED_CHARACTERS
    } else answers.push(answer)
  }
  return next === own.length && at === text.length ? answers : undefined // mutant: redis-answers-uncounted
}

function strange(count: number, got: unknown): StoreError {
  const shown = JSON.stringify(got)?.slice(0, 100) ?? typeof got
  return new StoreError('STORE_AMBIGUOUS', `Redis: expected ${count} answers of a known form, got ${shown}`)
}

function oneOf<T extends string>(...known: readonly T[]): ReadAnswer<unknown, T> {
  const byText = new Map<string, T>(known.map((one) => [one, one]))
  return (answer) => byText.get(answer)
}
