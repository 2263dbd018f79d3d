import { systemEntropy } from '../../../src/internal.ts'
import { inKeyOrder } from '../../sql/bytes.ts'
import type { Attempts, InboxStatements, RecordRow } from '../../sql/inbox/statements.ts'
import { Purge } from '../purge.ts'
import type { MysqlSessions } from '../sessions/sessions.ts'
import { auditDecision } from '../statements/audit.ts'
import { lookedTo } from '../../sql/in-steps.ts'
import { lookAhead } from '../statements/look-ahead.ts'
import { isBefore, notePurge } from '../statements/purge.ts'
import type { Script } from '../statements/script.ts'
import type { Tables } from '../statements/tables.ts'
import type { MysqlTransaction } from '../tx/mysql-transaction.ts'
import {
  countFirst,
  countNext,
  forgetAttempts,
  holdBack,
  letRun,
  readAttempts,
  refundAttempts,
} from './statements/attempts.ts'
import {
  claimKeys,
  glanceAt,
  holdKeys,
  listInbox,
  makeDone,
  markKeys,
  readFlushed,
  readInbox,
  removeInserted,
  removeKeys,
  writeRecords,
} from './statements/records.ts'

/** The inbox of one scope, in the SQL of MariaDB and MySQL. */
export function mysqlInbox(sessions: MysqlSessions, tables: Tables, scope: number): InboxStatements<MysqlTransaction> {
  const passes = new Purge(sessions, scope)
  const read = (keys: readonly string[]): Script<RecordRow> => readInbox(tables, scope, keys)
  const refund = ({ keys, token }: Pick<Attempts, 'keys' | 'token'>): Script =>
    refundAttempts(tables, { scope, keys, owner: token })
  return {
    /** A claim of a key with a record locks it until the handlers end, and others would wait for a done message. */
    looksFirst: (keys) => keys > 1,
    open: async ({ token, alone, retentionMs: keepMs }, unordered) => {
      const items = inKeyOrder(unordered)
      const claim = { scope, items, owner: token, keepMs }
      const { session, rows, counted } = await sessions.claim({
        count: alone ? countNext(tables, claim) : countFirst(tables, claim),
        uncount: refund({ keys: items.map(({ key }) => key), token }),
        first: claimKeys(tables, claim),
      })
      const counts = new Map(
        counted.map(({ k, n, is_known: isKnown }) => [k, { attempt: n, isKnown: Number(isKnown) === 1 }]),
      )
      return {
        session,
        inserted: new Set(rows.map(({ k }) => k)),
        counted: { size: counts.size, of: (key) => counts.get(key) },
        writer: token,
      }
    },
    read,
    readForGood: async (keys) => {
      const rows = await sessions.committed(read(keys))
      const done = rows.flatMap((row) => (mayBeUndone(row) ? [row.key] : []))
      if (done.length === 0) return rows // mutant: mysql-duplicates-before-the-flush
      const flushed = await sessions.committed(readFlushed(tables, scope, done))
      return [...rows.filter((row) => !mayBeUndone(row)), ...flushed]
    },
    mayBeUndone,
    readBeside: (keys) => read(keys),
    readAttempts: (keys) => readAttempts(tables, scope, keys),
    /** What was counted of a key with a record is removed by the mark of that. */
    abandon: (session) => session.rollback(),
    hold: (keys) => {
      const items = inKeyOrder(keys.map((key) => ({ key, fp: null })))
      return holdKeys(tables, { scope, items, owner: systemEntropy.ownerToken() })
    },
    glance: (key) => glanceAt(tables, scope, key),
    remove: (keys) => removeKeys(tables, scope, keys),
    removeInserted: (keys, token) => removeInserted(tables, scope, keys, token),
    mark: ({ items, token, results, keepMs, givenBack }) => {
      const keys = items.map(({ key }) => key)
      const marked = [markKeys(tables, { scope, keys, results, keepMs }), forgetAttempts(tables, scope, keys)]
      if (givenBack.length === 0) return marked
      return [removeKeys(tables, scope, givenBack), refund({ keys: givenBack, token }), ...marked]
    },
    forgetAttempts: (keys) => forgetAttempts(tables, scope, keys),
    refund,
    /** The row of the inbox, not the attempt, tells whether a handler has committed: nothing must be held. */
    refundLost: refund,
    holdBack: ({ items, token, delayMs, cause }) => {
      return holdBack(tables, { scope, keys: items.map(({ key }) => key), owner: token, delayMs, cause })
    },
    write: ({ items, ...record }) => writeRecords(tables, scope, { ...record, items: inKeyOrder(items) }),
    list: async ({ most, ...page }) => {
      const [ahead] = await sessions.committed(lookAhead(tables.inbox, { scope, after: page.after, most }))
      const seenTo = lookedTo(ahead, most)
      const rows = await sessions.committed(listInbox(tables, { scope, ...page, upTo: seenTo.last }))
      return { ...seenTo, rows }
    },
    audit: (decided, decision, why): Script => {
      return { statements: auditDecision(tables, scope, decided, { decision, ...why }) }
    },
    makeDone: (keys, keepMs) => makeDone(tables, scope, keys, keepMs),
    letRun: (keys) => letRun(tables, scope, keys),
    /** Attempts of messages that never ended are removed too. */
    purge: async ({ retentionMs, limit }) => {
      const noted = [notePurge(tables, scope, retentionMs)]
      const isPast = (since: string): string => `${isBefore(since, retentionMs)} and keep_until < utc_timestamp(6)`
      const isOver = `outcome in ('d', 'g') and ${isPast('done_at')}`
      const records = await passes.step({ tables, table: 'inbox', isOver, noted }, limit)
      if (records.more) return records
      const ofTries = { tables, table: 'attempt', isOver: isPast('last_at') } as const
      const tries = await passes.step(ofTries, Math.max(1, limit - records.removed))
      return { removed: records.removed + tries.removed, more: tries.more }
    },
  }
}

/** InnoDB shows committed data before it is flushed. */
function mayBeUndone({ outcome }: RecordRow): boolean {
  return outcome === 'd'
}
