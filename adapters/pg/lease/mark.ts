import type { Marking } from '../../sql/lease-store.ts'
import { StoreError, type Claim, type MarkVerdict, type Result } from '../../../src/internal.ts'
import { storedNumbered, type StoredItem } from '../../sql/bytes.ts'
import { isUnstorable } from '../sql-errors.ts'
import { markLeases, readOwners, type LeaseMark, type MarkedRow, type OwnerRow } from './statements/mark.ts'
import { ask, type LeasePlace } from './ask.ts'

type StoredMark = StoredItem & { readonly mark: Marking }

/** Limits the rounds for a record that changes between every write and read. */
const ROUNDS = 5

/** Marks the claims, then reads the owners of those that were refused. */
export async function mark(place: LeasePlace, marks: readonly Marking[]): Promise<readonly MarkVerdict[]> {
  const stored: readonly StoredMark[] = marks.map((one) => ({ mark: one, ...storedNumbered(one) }))
  const verdicts = new Map<string, MarkVerdict>()
  for (let round = 0, open = stored; round < ROUNDS; round++) {
    for (const { key, is_late } of await write(place, open)) verdicts.set(key, is_late ? 'marked-late' : 'marked')
    open = open.filter(({ key }) => !verdicts.has(key))
    if (open.length > 0) {
      const owners = await ask(place, readOwners, { scope: place.scope, keys: open.map(({ key }) => key) })
      const byKey = new Map(owners.map((row) => [row.key, row]))
      for (const { key, mark: refused } of open) {
        const verdict = refusalOf(byKey.get(key), refused)
        if (verdict !== undefined) verdicts.set(key, verdict)
      }
      open = open.filter(({ key }) => !verdicts.has(key))
    }
    if (open.length === 0) return stored.map(({ key }) => verdicts.get(key) ?? 'refused-busy')
  }
  throw new StoreError('STORE_AMBIGUOUS', `mark: expected an owner of what was refused, found none ${ROUNDS} times`)
}

async function write(place: LeasePlace, open: readonly StoredMark[]): Promise<readonly MarkedRow[]> {
  const { scope, lockTimeoutMs } = place
  const asked: LeaseMark = {
    scope,
    lockTimeoutMs,
    keys: open.map(({ key }) => key),
    fps: open.map(({ fp }) => fp ?? ''),
    owners: open.map(({ mark: { token } }) => token),
    fences: open.map(({ mark: { fence } }) => fence),
    retentions: open.map(({ mark: { retentionMs } }) => retentionMs),
    results: open.map(({ mark: { result } }) => result ?? ''),
  }
  try {
    return await ask(place, markLeases, asked)
  } catch (error) {
    if (!isUnstorable(error)) throw error
    return ask(place, markLeases, { ...asked, results: asked.results.map(inAscii) })
  }
}

/** `undefined`: it could be marked now. */
function refusalOf(row: OwnerRow | undefined, { token }: Claim): MarkVerdict | undefined {
  if (row?.state === 'D') return row.owner === token ? 'already-marked' : 'refused-done'
  // An unreadable record may belong to somebody else.
  const isOthers = row !== undefined && (row.state === 'P' ? row.owner !== token : !'RGX'.includes(row.state))
  return isOthers ? 'refused-busy' : undefined
}

/** The same JSON in ASCII, for a database that is not in UTF-8: a result must never prevent a mark. */
function inAscii(result: Result): Result {
  return result.replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
