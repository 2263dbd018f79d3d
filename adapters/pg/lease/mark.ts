import { StoreError, type Claim, type MarkVerdict, type Result } from '../../../src/index.ts'
import { storedItem } from '../bytes.ts'
import { isUnstorable } from '../sql-errors.ts'
import { markAbsent, markKept, type LeaseMark } from '../sql/lease-mark.ts'
import { ask, type LeasePlace } from './lease-place.ts'

/** Empty where there is none. */
export type Marking = Claim & { readonly result: Result }

/** A record that comes and goes between two statements cannot do so for ever. */
const ROUNDS = 5

/** Marks what has a record, which is nearly all; then what has none any more, unless somebody has claimed it meanwhile. */
export async function markLeases(place: LeasePlace, marks: readonly Marking[]): Promise<readonly MarkVerdict[]> {
  const stored = marks.map((mark) => ({ mark, ...storedItem(mark) }))
  const verdicts = new Map<string, MarkVerdict>()
  for (let round = 0; round < ROUNDS; round++) {
    for (const statement of [markKept, markAbsent]) {
      const open = stored.filter(({ key }) => !verdicts.has(key))
      const keys = open.map(({ key }) => key)
      const of: LeaseMark = {
        scope: place.scope,
        lockTimeoutMs: place.lockTimeoutMs,
        keys,
        fps: open.map(({ fp }) => fp ?? ''),
        owners: open.map(({ mark }) => mark.token),
        fences: open.map(({ mark }) => mark.fence),
        retentions: open.map(({ mark }) => mark.retentionMs),
        results: open.map(({ mark }) => mark.result),
      }
      const rows = await ask(place, statement, of).catch((error: unknown) => {
        if (!isUnstorable(error)) throw error
        return ask(place, statement, { ...of, results: of.results.map(inAscii) })
      })
      for (const { key, verdict } of rows) verdicts.set(key, verdict)
      if (verdicts.size === stored.length) return stored.map(({ key }) => verdicts.get(key) ?? 'refused-busy')
    }
  }
  throw new StoreError('STORE_AMBIGUOUS', `mark: records came and went in ${ROUNDS} rounds`)
}

/** The same JSON, for a database that is not in UTF-8: a mark is never kept back by its result. */
function inAscii(result: Result): Result {
  return result.replaceAll(/[^ -~]/g, (character) =>
    Array.from(
      { length: character.length },
      (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
    ).join(''),
  )
}
