import { lookedTo } from '../../sql/in-steps.ts'
import type { InboxStatements } from '../../sql/inbox/statements.ts'
import type { PgSessions } from '../sessions/session.ts'
import type { Script } from '../statements/statement.ts'
import type { Tables } from '../statements/tables.ts'
import type { PgTransaction } from '../tx/pg-transaction.ts'
import { Purge } from './purge.ts'
import { Claims } from './claims.ts'
import { forgetAttempts, holdBack, letRun } from './statements/attempts.ts'
import { endClaim, forgetClaim, narrowClaim, triedKeys, withdrawKeys } from './statements/claims.ts'
import {
  auditDecision,
  claimKeys,
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
  const claims = new Claims(sessions, tables, scope)
  const read = (keys: readonly string[]): Script<ReadRow> => readRecords(tables, scope, keys, claims.from)
  return {
    looksFirst: () => false,
    open: (request, items) => claims.open(request, items),
    abandon: (session, token, inserted) => claims.abandon(session, token, inserted),
    withdraw: (keys) => withdrawKeys(tables, scope, keys),
    read,
    readBeside: (keys, token): Script<ReadRow> => ({
      text: `${narrowClaim(tables, scope, token, keys).text};\n${read(keys).text}`,
    }),
    /** If marks of the scope are flushed late, it reads them again before a flush that proves them durable. */
    readForGood: async (keys) => {
      const rows = await sessions.committed(read(keys))
      return rows.some(mayBeUndone) ? sessions.durably(read(keys)) : rows
    },
    mayBeUndone,
    readAttempts: (keys, but) => triedKeys(tables, { scope, keys, but, open: 'counted' }),
    hold: (keys) => holdRecords(tables, scope, keys),
    glance: (key): Script => {
      const { text } = claimKeys(tables, scope, [{ key, fp: null }])
      return { text: `set local lock_timeout = '${GLANCE_MS}ms';\n${text}` }
    },
    remove: (keys) => removeKeys(tables, scope, keys),
    removeInserted: (keys) => removeHeld(tables, scope, keys),
    /** The claim has inserted the rows already, so the mark is only the COMMIT, plus the results if there are any. */
    mark: ({ items, token, results, givenBack }) => {
      const tried = items.flatMap(({ key, isTried }) => (isTried ? [key] : []))
      const scripts: Script[] = [forgetClaim(tables, scope, token)]
      if (results.size > 0) scripts.push(keepResults(tables, scope, [...results]))
      if (tried.length > 0) scripts.push(forgetAttempts(tables, scope, tried))
      if (givenBack.length > 0) scripts.push(removeKeys(tables, scope, givenBack))
      return scripts
    },
    forgetAttempts: (keys) => forgetAttempts(tables, scope, keys),
    refund: ({ keys, token, isWhole }) =>
      isWhole ? forgetClaim(tables, scope, token) : endClaim(tables, { scope, keys, token }, 'in-transaction'),
    refundLost: ({ keys, token }) => endClaim(tables, { scope, keys, token }, 'afterwards'),
    holdBack: (failed, when) => holdBack(tables, scope, failed, when),
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
