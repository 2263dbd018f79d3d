import type { ClaimRequest, Decision, Purged, Purging, ScopeRow } from '../../../src/spi.ts'
import type { StoredItem } from '../../sql/bytes.ts'
import type {
  AttemptRow,
  Attempts,
  Decided,
  HeldRow,
  InboxStatements,
  OpenedClaim,
  RecordRow,
  Writing,
} from '../../sql/inbox/statements.ts'
import type { PgSessions } from '../sessions/session.ts'
import { findShared } from '../statements/register-scope.ts'
import type { Script, Statement } from '../statements/statement.ts'
import type { Tables } from '../statements/tables.ts'
import type { PgTransaction } from '../tx/pg-transaction.ts'
import { Purge } from './purge.ts'
import { AnsweredKeys } from './statements/answered-keys.ts'
import { claimKeys, claimTogether } from './statements/claim-keys.ts'
import { countFirst, countNext, Counts } from './statements/count-attempts.ts'
import { auditDecision, makeDone } from './statements/decide-records.ts'
import { forgetAttempts } from './statements/forget-attempts.ts'
import { holdBack } from './statements/hold-back.ts'
import { holdRecords } from './statements/hold-records.ts'
import { keepResults } from './statements/keep-results.ts'
import { letRun } from './statements/let-run.ts'
import { listRecords } from './statements/list-records.ts'
import { readAttempts } from './statements/read-attempts.ts'
import { readRecords, type ReadRow } from './statements/read-records.ts'
import { refundAttempts, refundLostAttempts } from './statements/refund-attempts.ts'
import { removeHeld, removeKeys } from './statements/remove-keys.ts'
import { writeRecords } from './statements/write-records.ts'

/** How long a look waits for the owner of a key, in milliseconds. */
const GLANCE_MS = 20

/** The inbox of one scope, in the SQL of Postgres. */
export class PgInbox implements InboxStatements<PgTransaction> {
  readonly #sessions: PgSessions
  readonly #tables: Tables
  readonly #scope: number
  readonly #purge: Purge

  constructor(sessions: PgSessions, tables: Tables, scope: number) {
    this.#sessions = sessions
    this.#tables = tables
    this.#scope = scope
    this.#purge = new Purge(sessions, tables, scope)
  }

  looksFirst(): boolean {
    return false
  }

  /**
   * A key that was counted but not inserted was marked by another owner, whose mark removes the attempt. The COMMIT of
   * the count is not flushed.
   */
  async open({ token, alone }: ClaimRequest, items: readonly StoredItem[]): Promise<OpenedClaim<PgTransaction>> {
    const counting = { scope: this.#scope, items, keys: items.map(({ key }) => key), token }
    const { session, rows, counted } = await this.#sessions.claim({
      count: alone ? countNext(this.#tables, counting) : countFirst(this.#tables, counting),
      uncount: refundAttempts(this.#tables, counting),
      first: claimTogether(this.#tables, this.#scope, items), // mutant: pg-row-before-the-effect
    })
    const [{ keys, transaction: writer } = { keys: null, transaction: null }] = rows
    const inserted = new AnsweredKeys(keys, items.length)
    return { session, inserted, counted: new Counts(counted, items.length), writer }
  }

  read(keys: readonly string[]): Script<ReadRow> {
    return readRecords(this.#tables, this.#scope, keys)
  }

  /** If marks of the scope are flushed late, it reads them again before a flush that proves them durable. */
  async readForGood(keys: readonly string[]): Promise<readonly RecordRow[]> {
    const rows = await this.#sessions.committed(this.read(keys))
    return rows.some((row) => this.mayBeUndone(row)) ? this.#sessions.durably(this.read(keys)) : rows
  }

  mayBeUndone({ outcome, is_late: isLate }: ReadRow): boolean {
    return outcome === 'd' && isLate // mutant: duplicates-before-the-flush
  }

  readAttempts(keys: readonly string[]): Script<AttemptRow> {
    return readAttempts(this.#tables, this.#scope, keys)
  }

  hold(keys: readonly string[]): Script<HeldRow> {
    return holdRecords(this.#tables, this.#scope, keys)
  }

  glance(key: string): Script {
    const { text } = claimKeys(this.#tables, this.#scope, [{ key, fp: null }])
    return { text: `set local lock_timeout = '${GLANCE_MS}ms';\n${text}` }
  }

  remove(keys: readonly string[]): Script {
    return removeKeys(this.#tables, this.#scope, keys)
  }

  removeInserted({ keys }: Attempts): Script {
    return removeHeld(this.#tables, this.#scope, keys)
  }

  /** The claim has inserted the rows already, so the mark is only the COMMIT, plus the results if there are any. */
  mark(keys: readonly string[], results: ReadonlyMap<string, string>): readonly Script[] {
    const forgotten = this.forgetAttempts(keys)
    return results.size === 0 ? [forgotten] : [keepResults(this.#tables, this.#scope, [...results]), forgotten]
  }

  forgetAttempts(keys: readonly string[]): Script {
    return forgetAttempts(this.#tables, this.#scope, keys)
  }

  refund(attempts: Attempts): Script {
    return refundAttempts(this.#tables, { scope: this.#scope, ...attempts })
  }

  refundLost(attempts: Attempts): Script {
    return refundLostAttempts(this.#tables, { scope: this.#scope, ...attempts })
  }

  holdBack(failed: Parameters<InboxStatements<PgTransaction>['holdBack']>[0]): Script {
    return holdBack(this.#tables, { scope: this.#scope, ...failed })
  }

  write({ items, ...record }: Writing): Statement<Pick<RecordRow, 'key' | 'outcome'>> {
    return writeRecords(this.#tables, {
      ...record,
      scope: this.#scope,
      keys: items.map(({ key }) => key),
      fps: items.map(({ fp }) => fp),
      attempts: items.map(({ attempt }) => attempt),
    })
  }

  list(page: Parameters<InboxStatements<PgTransaction>['list']>[0]): Statement<RecordRow> {
    return listRecords(this.#tables, { scope: this.#scope, ...page })
  }

  audit(decided: readonly Decided[], decision: Decision, why: { by: string; reason: string }): Statement {
    const keys = decided.map(({ key }) => key)
    return auditDecision(this.#tables, { scope: this.#scope, keys, decision, by: why.by, reason: why.reason })
  }

  makeDone(keys: readonly string[]): Statement {
    return makeDone(this.#tables, this.#scope, keys)
  }

  letRun(keys: readonly string[]): Script {
    return letRun(this.#tables, this.#scope, keys)
  }

  findShared(): Statement<Pick<ScopeRow, 'id' | 'name'>> {
    return findShared(this.#tables, this.#scope)
  }

  purge(how: Purging): Promise<Purged> {
    return this.#purge.run(how)
  }
}
