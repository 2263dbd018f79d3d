import { StoreError, transition, type DecideVerdict, type Decision, type Why } from '../../../src/internal.ts'
import { despiteConflicts } from '../despite-conflicts.ts'
import type { Session } from '../session.ts'
import { recordOfAttempts, recordOfRow } from './records.ts'
import type { Decided, HeldRow, InboxPlace } from './statements.ts'

type Verdicts = ReadonlyMap<string, DecideVerdict>

/** How often a record may vanish while it is being decided. */
const TRIES = 5

/**
 * Carries out a person's decision about keys (in hex, distinct): all in one transaction with the audit. If a running
 * claim holds one of them, each key is decided in a transaction of its own, and that one is refused.
 */
export async function decide<Tx>(
  place: InboxPlace<Tx>,
  keys: readonly string[],
  decision: Decision,
  why: Why,
): Promise<Verdicts> {
  if (keys.length === 0) return new Map()
  const { errors } = place.sessions
  try {
    for (let tries = 0; tries < TRIES; tries++) {
      const verdicts = await despiteConflicts(() => decideOnce(place, keys, decision, why), errors.mayPassAgain)
      if (verdicts !== undefined) return verdicts
    }
    throw new StoreError('STORE_UNREACHABLE', 'records came and went while they were decided about')
  } catch (error) {
    if (!errors.isLockTimeout(error)) throw error
    const [first, ...others] = keys
    if (first === undefined || others.length === 0) return new Map(keys.map((key) => [key, 'refused']))
    const verdicts = new Map<string, DecideVerdict>()
    for (const key of keys)
      for (const [, verdict] of await decide(place, [key], decision, why)) verdicts.set(key, verdict)
    return verdicts
  }
}

/** `undefined`: a record vanished between two reads. */
async function decideOnce<Tx>(
  place: InboxPlace<Tx>,
  keys: readonly string[],
  decision: Decision,
  why: Why,
): Promise<Verdicts | undefined> {
  const { sessions, inbox } = place
  const { session, rows } = await sessions.begin(inbox.hold(keys))
  try {
    const decided = rows.length < keys.length ? undefined : await judge(place, session, rows, decision, why)
    if (decided === undefined || decided.changed.length === 0) {
      await session.rollback()
      return decided?.verdicts
    }
    const { verdicts, changed, done, open } = decided
    await session.run(inbox.audit(changed, decision, why)) // mutant: pg-decision-without-audit
    if (done.length > 0) await session.run(inbox.makeDone(done, why.retentionMs))
    const imported = new Set(done)
    const gone = [...open, ...rows.flatMap(({ key, is_new }) => (is_new && !imported.has(key) ? [key] : []))]
    const end = await session.commit([
      ...(gone.length === 0 ? [] : [inbox.remove(gone)]),
      ...(done.length === 0 ? [] : [inbox.forgetAttempts(done)]),
      ...(open.length === 0 ? [] : [inbox.letRun(open)]),
    ])
    if (end !== 'committed') throw new StoreError('STORE_AMBIGUOUS', `the COMMIT of a decision was answered: ${end}`)
    return verdicts
  } catch (error) {
    await session.rollback()
    throw error
  }
}

interface Judged {
  readonly verdicts: Verdicts
  readonly changed: readonly Decided[]
  readonly done: readonly string[]
  readonly open: readonly string[]
}

async function judge<Tx>(
  { inbox }: InboxPlace<Tx>,
  session: Session<Tx>,
  rows: readonly HeldRow[],
  decision: Decision,
  { retentionMs }: Why,
): Promise<Judged> {
  const absent = rows.flatMap(({ key, is_new }) => (is_new ? [key] : []))
  const counted = absent.length === 0 ? [] : await session.run(inbox.readAttempts(absent))
  const attempts = new Map(counted.map((row) => [row.key, row]))
  const verdicts = new Map<string, DecideVerdict>()
  const changed: Decided[] = []
  const [done, open]: [string[], string[]] = [[], []]
  for (const row of rows) {
    const { key } = row
    const before = row.is_new ? recordOfAttempts(attempts.get(key)) : recordOfRow(row)
    const { next, verdict } = transition<'decide'>(before, { command: 'decide', decision, retentionMs }, 0)
    verdicts.set(key, verdict)
    if (verdict !== 'decided') continue
    // A row that holds a key which is imported is no record.
    changed.push({ key, before: decision === 'import' ? { state: 'absent' } : before })
    ;(next.state === 'done' ? done : open).push(key)
  }
  return { verdicts, changed, done, open }
}
