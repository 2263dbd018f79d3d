import { StoreError, transition, type DecideVerdict, type Decision, type Why } from '../../../src/spi.ts'
import { despiteConflicts } from '../../sql/despite-conflicts.ts'
import { recordOfAttempts, recordOfRow } from './records.ts'
import type { Place } from '../place.ts'
import type { Session } from '../sessions/session.ts'
import { storable } from './set-keys-aside.ts'
import { isLockTimeout, isUnstorable, isConflictOfTransactions } from '../sql-errors.ts'
import { auditDecision, makeDone } from './statements/decide-records.ts'
import { forgetAttempts } from './statements/forget-attempts.ts'
import { letRun } from './statements/let-run.ts'
import { holdRecords, type HeldRecordRow } from './statements/hold-records.ts'
import { readAttempts } from './statements/read-attempts.ts'
import { removeKeys } from './statements/remove-keys.ts'

type Verdicts = ReadonlyMap<string, DecideVerdict>

/** How often a record may vanish while it is being decided. */
const TRIES = 5

/**
 * Carries out a person's decision about keys (in hex, distinct): all in one transaction with the audit. If a running
 * claim holds one of them, each key is decided in a transaction of its own, and that one is refused.
 */
export async function decide(place: Place, keys: readonly string[], decision: Decision, why: Why): Promise<Verdicts> {
  if (keys.length === 0) return new Map()
  try {
    for (let tries = 0; tries < TRIES; tries++) {
      const verdicts = await despiteConflicts(() => decideOnce(place, keys, decision, why), isConflictOfTransactions)
      if (verdicts !== undefined) return verdicts
    }
    throw new StoreError('STORE_UNREACHABLE', 'records came and went while they were decided about')
  } catch (error) {
    if (isUnstorable(error)) {
      return decide(place, keys, decision, { ...why, by: storable(why.by), reason: storable(why.reason) })
    }
    if (!isLockTimeout(error)) throw error
    const [first, ...others] = keys
    if (first === undefined || others.length === 0) return new Map(keys.map((key) => [key, 'refused']))
    const verdicts = new Map<string, DecideVerdict>()
    for (const key of keys)
      for (const [, verdict] of await decide(place, [key], decision, why)) verdicts.set(key, verdict)
    return verdicts
  }
}

/** `undefined`: a record vanished between two reads. */
async function decideOnce(
  place: Place,
  keys: readonly string[],
  decision: Decision,
  why: Why,
): Promise<Verdicts | undefined> {
  const { sessions, tables, scope } = place
  const { session, rows } = await sessions.begin(holdRecords(tables, scope, keys))
  try {
    const decided = rows.length < keys.length ? undefined : await judge(place, session, rows, decision, why)
    if (decided === undefined || decided.done.length + decided.open.length === 0) {
      await session.rollback()
      return decided?.verdicts
    }
    const { verdicts, done, open } = decided
    await session.run(auditDecision(tables, { scope, keys: [...done, ...open], decision, ...why })) // mutant: pg-decision-without-audit
    if (done.length > 0) await session.run(makeDone(tables, scope, done))
    const gone = [...open, ...rows.flatMap(({ key, is_new }) => (is_new ? [key] : []))]
    const last = [
      ...(gone.length === 0 ? [] : [removeKeys(tables, scope, gone).text]),
      ...(done.length === 0 ? [] : [forgetAttempts(tables, scope, done).text]),
      ...(open.length === 0 ? [] : [letRun(tables, scope, open).text]),
    ]
    const tag = await session.commit({ text: last.join(';\n') })
    if (tag !== 'COMMIT') throw new StoreError('STORE_AMBIGUOUS', `the COMMIT of a decision was answered ${tag}`)
    return verdicts
  } catch (error) {
    await session.rollback()
    throw error
  }
}

interface Judged {
  readonly verdicts: Verdicts
  readonly done: readonly string[]
  readonly open: readonly string[]
}

async function judge(
  { tables, scope }: Place,
  session: Session,
  rows: readonly HeldRecordRow[],
  decision: Decision,
  { retentionMs }: Why,
): Promise<Judged> {
  const absent = rows.flatMap(({ key, is_new }) => (is_new ? [key] : []))
  const counted = absent.length === 0 ? [] : await session.run(readAttempts(tables, scope, absent))
  const attempts = new Map(counted.map((row) => [row.key, row]))
  const verdicts = new Map<string, DecideVerdict>()
  const [done, open]: [string[], string[]] = [[], []]
  for (const row of rows) {
    const record = row.is_new ? recordOfAttempts(attempts.get(row.key)) : recordOfRow(row)
    const { next, verdict } = transition<'decide'>(record, { command: 'decide', decision, retentionMs }, 0)
    verdicts.set(row.key, verdict)
    if (verdict === 'decided') (next.state === 'done' ? done : open).push(row.key)
  }
  return { verdicts, done, open }
}
