import { systemEntropy, transition, type DecideVerdict, type Decision, type Why } from '../../../src/spi.ts'
import { despiteConflicts } from '../../sql/despite-conflicts.ts'
import type { Place } from '../place.ts'
import { isLockTimeout, mayPassAgain } from '../sql-errors.ts'
import { forgetAttempts, letRun, readAttempts, type TriedRow } from './statements/attempts.ts'
import { auditDecision, type Decided } from '../statements/audit.ts'
import { claimKeys, makeDone, removeKeys, type InboxRow } from './statements/records.ts'
import { fromHex } from '../statements/literals.ts'
import { lastRows } from '../statements/script.ts'
import { recordOf, recordOfAttempts } from './records.ts'

type Verdicts = ReadonlyMap<string, DecideVerdict>

/**
 * Carries out a person's decision about keys (in hex, distinct, in order): all in one transaction with the audit. If a
 * running claim holds one of them, each key is decided in a transaction of its own, and that one is refused.
 */
export async function decide(place: Place, keys: readonly string[], decision: Decision, why: Why): Promise<Verdicts> {
  if (keys.length === 0) return new Map()
  try {
    return await despiteConflicts(() => decideOnce(place, keys, decision, why), mayPassAgain)
  } catch (error) {
    if (!isLockTimeout(error)) throw error
    const [first, ...others] = keys
    if (first === undefined || others.length === 0) return new Map(keys.map((key) => [key, 'refused']))
    return new Map([...(await decide(place, [first], decision, why)), ...(await decide(place, others, decision, why))])
  }
}

/** Claims the keys, so that nobody else does, and removes the rows that it has inserted for that. */
async function decideOnce(
  { sessions, tables, scope }: Place,
  keys: readonly string[],
  decision: Decision,
  { by, reason, retentionMs }: Why,
): Promise<Verdicts> {
  const owner = systemEntropy.ownerToken()
  const items = keys.map((key) => ({ key, fp: null }))
  const { session, sets } = await sessions.begin(claimKeys(tables, { scope, items, owner }))
  try {
    const rows = new Map((lastRows(sets) as readonly InboxRow[]).map((row) => [row.k, row]))
    const counted = lastRows(await session.run(readAttempts(tables, scope, keys).statements)) as readonly TriedRow[]
    const attempts = new Map(counted.map((row) => [row.k, row]))
    const verdicts = new Map<string, DecideVerdict>()
    const decided: Decided[] = []
    const [done, open, gone]: [string[], string[], string[]] = [[], [], []]
    for (const key of keys) {
      const row = rows.get(key)
      const isNew = row === undefined || (row.outcome === 'c' && fromHex(row.owner) === owner)
      const before = isNew ? recordOfAttempts(attempts.get(key)) : recordOf(row)
      const { next, verdict } = transition<'decide'>(before, { command: 'decide', decision, retentionMs }, 0)
      verdicts.set(key, verdict)
      if (verdict === 'decided') decided.push({ key, before })
      if (verdict === 'decided') (next.state === 'done' ? done : open).push(key)
      if (verdict === 'decided' && next.state === 'done') continue
      if (isNew || verdict === 'decided') gone.push(key)
    }
    await session.commit({
      statements: [
        ...auditDecision(tables, scope, decided, { decision, by, reason }),
        ...(done.length === 0 ? [] : makeDone(tables, scope, done).statements),
        ...(gone.length === 0 ? [] : removeKeys(tables, scope, gone).statements),
        ...(done.length === 0 ? [] : forgetAttempts(tables, scope, done).statements),
        ...(open.length === 0 ? [] : letRun(tables, scope, open).statements),
      ],
    })
    return verdicts
  } catch (error) {
    await session.rollback()
    throw error
  }
}
