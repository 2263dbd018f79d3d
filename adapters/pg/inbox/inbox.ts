import { lookedTo } from '../../sql/in-steps.ts'
import type { InboxStatements } from '../../sql/inbox/statements.ts'
import type { PgSessions } from '../sessions/session.ts'
import type { Script } from '../statements/statement.ts'
import type { Tables } from '../statements/tables.ts'
import type { PgTransaction } from '../tx/pg-transaction.ts'
import { Purge } from './purge.ts'
import { AnsweredKeys } from './statements/answered-keys.ts'
import {
  countFirst,
  countNext,
  Counts,
  forgetAttempts,
  forgetDecided,
  holdBack,
  letRun,
  readAttempts,
  refundAttempts,
  refundLostAttempts,
} from './statements/attempts.ts'
import {
  auditDecision,
  claimKeys,
  claimTogether,
  holdRecords,
  keepResults,
  listRecords,
  lookAhead,
  makeDone,
  readRecords,
  removeHeld,
  removeKeys,
  writeRecords,
  type ReadRow,
} from './statements/records.ts'

/** How long a look waits for the owner of a key, in milliseconds. */
const GLANCE_MS = 20

/** The inbox of one scope, in the SQL of Postgres. */
export function pgInbox(sessions: PgSessions, tables: Tables, scope: number): InboxStatements<PgTransaction> {
  const purge = new Purge(sessions, tables, scope)
  const read = (keys: readonly string[]): Script<ReadRow> => readRecords(tables, scope, keys)
  return {
    looksFirst: () => false,
    /**
     * A key that was counted but not inserted was marked by another owner, whose mark removes the attempt. The COMMIT of
     * the count is not flushed.
     */
    open: async ({ token, alone, retentionMs: keepMs }, items) => {
      const counting = { scope, items, keys: items.map(({ key }) => key), token, keepMs }
      const { session, rows, counted } = await sessions.claim({
        count: alone ? countNext(tables, counting) : countFirst(tables, counting),
        uncount: refundAttempts(tables, counting),
        first: claimTogether(tables, scope, items, keepMs), // mutant: pg-row-before-the-effect
      })
      const [{ keys, transaction: writer } = { keys: null, transaction: null }] = rows
      const inserted = new AnsweredKeys(keys, items)
      return { session, inserted, counted: new Counts(counted, items), writer }
    },
    read,
    /** If marks of the scope are flushed late, it reads them again before a flush that proves them durable. */
    readForGood: async (keys) => {
      const rows = await sessions.committed(read(keys))
      return rows.some(mayBeUndone) ? sessions.durably(read(keys)) : rows
    },
    mayBeUndone,
    readAttempts: (keys) => readAttempts(tables, scope, keys),
    hold: (keys) => holdRecords(tables, scope, keys),
    glance: (key): Script => {
      const { text } = claimKeys(tables, scope, [{ key, fp: null }])
      return { text: `set local lock_timeout = '${GLANCE_MS}ms';\n${text}` }
    },
    remove: (keys) => removeKeys(tables, scope, keys),
    removeInserted: ({ keys }) => removeHeld(tables, scope, keys),
    /** The claim has inserted the rows already, so the mark is only the COMMIT, plus the results if there are any. */
    mark: (keys, results) => {
      const forgotten = forgetAttempts(tables, scope, keys)
      return results.size === 0 ? [forgotten] : [keepResults(tables, scope, [...results]), forgotten]
    },
    forgetAttempts: (keys) => forgetDecided(tables, scope, keys),
    refund: (attempts) => refundAttempts(tables, { scope, ...attempts }),
    refundLost: (attempts) => refundLostAttempts(tables, { scope, ...attempts }),
    holdBack: (failed) => holdBack(tables, { scope, ...failed }),
    write: (writing) => writeRecords(tables, scope, writing),
    list: async ({ most, ...page }) => {
      const [ahead] = await sessions.committed(lookAhead(tables, { scope, ...page, most }))
      const seenTo = lookedTo(ahead, most)
      return { ...seenTo, rows: await sessions.committed(listRecords(tables, { scope, ...page, upTo: seenTo.last })) }
    },
    audit: (decided, decision, why) => {
      return auditDecision(tables, { scope, keys: decided.map(({ key }) => key), decision, ...why })
    },
    makeDone: (keys, keepMs) => makeDone(tables, scope, keys, keepMs),
    letRun: (keys) => letRun(tables, scope, keys),
    purge: (how) => purge.run(how),
  }
}

function mayBeUndone({ outcome, is_late: isLate }: ReadRow): boolean {
  return outcome === 'd' && isLate // mutant: duplicates-before-the-flush
}
