import {
  systemEntropy,
  type ClaimRequest,
  type Decision,
  type Purged,
  type Purging,
  type ScopeRow,
} from '../../../src/spi.ts'
import { inKeyOrder, type StoredItem } from '../../sql/bytes.ts'
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
import { Purge } from '../purge.ts'
import type { MysqlSessions } from '../sessions/sessions.ts'
import { auditDecision } from '../statements/audit.ts'
import { isBefore } from '../statements/purge.ts'
import { findShared } from '../statements/register-scope.ts'
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
export class MysqlInbox implements InboxStatements<MysqlTransaction> {
  readonly #sessions: MysqlSessions
  readonly #tables: Tables
  readonly #scope: number
  readonly #purge: Purge

  constructor(sessions: MysqlSessions, tables: Tables, scope: number) {
    this.#sessions = sessions
    this.#tables = tables
    this.#scope = scope
    this.#purge = new Purge(sessions, scope)
  }

  /** A claim of a key with a record locks it until the handlers end, and others would wait for a done message. */
  looksFirst(keys: number): boolean {
    return keys > 1
  }

  async open({ token, alone }: ClaimRequest, unordered: readonly StoredItem[]): Promise<OpenedClaim<MysqlTransaction>> {
    const items = inKeyOrder(unordered)
    const claim = { scope: this.#scope, items, owner: token }
    const { session, rows, counted } = await this.#sessions.claim({
      count: alone ? countNext(this.#tables, claim) : countFirst(this.#tables, claim),
      uncount: this.refund({ keys: items.map(({ key }) => key), token }),
      first: claimKeys(this.#tables, claim),
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
  }

  read(keys: readonly string[]): Script<RecordRow> {
    return readInbox(this.#tables, this.#scope, keys)
  }

  async readForGood(keys: readonly string[]): Promise<readonly RecordRow[]> {
    const rows = await this.#sessions.committed(this.read(keys))
    const done = rows.flatMap((row) => (this.mayBeUndone(row) ? [row.key] : []))
    if (done.length === 0) return rows // mutant: mysql-duplicates-before-the-flush
    const flushed = await this.#sessions.committed(readFlushed(this.#tables, this.#scope, done))
    return [...rows.filter((row) => !this.mayBeUndone(row)), ...flushed]
  }

  /** InnoDB shows committed data before it is flushed. */
  mayBeUndone({ outcome }: RecordRow): boolean {
    return outcome === 'd'
  }

  readAttempts(keys: readonly string[]): Script<AttemptRow> {
    return readAttempts(this.#tables, this.#scope, keys)
  }

  hold(keys: readonly string[]): Script<HeldRow> {
    const items = inKeyOrder(keys.map((key) => ({ key, fp: null })))
    return holdKeys(this.#tables, { scope: this.#scope, items, owner: systemEntropy.ownerToken() })
  }

  glance(key: string): Script {
    return glanceAt(this.#tables, this.#scope, key)
  }

  remove(keys: readonly string[]): Script {
    return removeKeys(this.#tables, this.#scope, keys)
  }

  removeInserted({ keys, token }: Attempts): Script {
    return removeInserted(this.#tables, this.#scope, keys, token)
  }

  mark(keys: readonly string[], results: ReadonlyMap<string, string>): readonly Script[] {
    return [markKeys(this.#tables, this.#scope, keys, results), this.forgetAttempts(keys)]
  }

  forgetAttempts(keys: readonly string[]): Script {
    return forgetAttempts(this.#tables, this.#scope, keys)
  }

  refund({ keys, token }: Attempts): Script {
    return refundAttempts(this.#tables, { scope: this.#scope, keys, owner: token })
  }

  /** The row of the inbox, not the attempt, tells whether a handler has committed: nothing must be held. */
  refundLost(attempts: Attempts): Script {
    return this.refund(attempts)
  }

  holdBack({ token, ...failed }: Parameters<InboxStatements<MysqlTransaction>['holdBack']>[0]): Script {
    return holdBack(this.#tables, { scope: this.#scope, owner: token, ...failed })
  }

  write({ items, ...record }: Writing): Script<Pick<RecordRow, 'key' | 'outcome'>> {
    return writeRecords(this.#tables, this.#scope, { ...record, items: inKeyOrder(items) })
  }

  list(page: Parameters<InboxStatements<MysqlTransaction>['list']>[0]): Script<RecordRow> {
    return listInbox(this.#tables, { scope: this.#scope, ...page })
  }

  audit(decided: readonly Decided[], decision: Decision, why: { by: string; reason: string }): Script {
    const { by, reason } = why
    return { statements: auditDecision(this.#tables, this.#scope, decided, { decision, by, reason }) }
  }

  makeDone(keys: readonly string[]): Script {
    return makeDone(this.#tables, this.#scope, keys)
  }

  letRun(keys: readonly string[]): Script {
    return letRun(this.#tables, this.#scope, keys)
  }

  findShared(): Script<Pick<ScopeRow, 'id' | 'name'>> {
    return findShared(this.#tables, this.#scope)
  }

  /** Parked records wait for a person. Attempts of messages that never ended are removed too. */
  async purge({ retentionMs, limit }: Purging): Promise<Purged> {
    const { inbox, attempt } = this.#tables
    const isOver = `outcome in ('d', 'g') and ${isBefore('done_at', retentionMs)}`
    const records = await this.#purge.step({ table: inbox, isOver }, limit)
    if (records.more) return records
    const ofTries = { table: attempt, isOver: isBefore('last_at', retentionMs) }
    const tries = await this.#purge.step(ofTries, Math.max(1, limit - records.removed))
    return { removed: records.removed + tries.removed, more: tries.more }
  }
}
