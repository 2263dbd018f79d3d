import type { ClaimRequest, OwnerToken } from '../../../src/internal.ts'
import type { StoredItem } from '../../sql/bytes.ts'
import type { OpenedClaim } from '../../sql/inbox/statements.ts'
import type { Session } from '../../sql/session.ts'
import type { PgSession, PgSessions } from '../sessions/session.ts'
import type { Tables } from '../statements/tables.ts'
import type { PgTransaction } from '../tx/pg-transaction.ts'
import { AnsweredKeys } from './statements/answered-keys.ts'
import { Counts } from './statements/attempts.ts'
import {
  beginClaim,
  countClaim,
  forgetClaim,
  NOT_READ_COMMITTED,
  triedKeys,
  type BegunRow,
  type InsertedRow,
  type TriedRow,
} from './statements/claims.ts'
import { removeHeld } from './statements/records.ts'

/** The rows of the two statements of `beginClaim`. */
type Begun = readonly [readonly InsertedRow[], readonly BegunRow[]]

/** How many claims use the same `from`. Beside the claims of a minute they read what these have left. */
const OLDEST_EVERY = 16

/** Claims of one scope. */
export class Claims {
  readonly #sessions: PgSessions
  readonly #tables: Tables
  readonly #scope: number
  #from = 0
  #claims = 0
  /** Whether the last transaction of handlers ran at READ COMMITTED; `undefined`: there was none. */
  #isReadCommitted: boolean | undefined

  constructor(sessions: PgSessions, tables: Tables, scope: number) {
    this.#sessions = sessions
    this.#tables = tables
    this.#scope = scope
  }

  /** The rows of all claims that began earlier are gone. Milliseconds since 1970, by the clock of the server. */
  get from(): number {
    return this.#from
  }

  /**
   * Earlier attempts are read in a statement of its own after the keys were inserted, because a claim that had them has
   * left its row by then. It is sent only where there are some: the message of the claim says that. At a level above READ
   * COMMITTED that statement would not see the row, or make the transaction fail beside others: then it is read before the
   * transaction begins, and keys of open claims are busy. The count is committed by then: two claims that both read before
   * the other's count would both be the first attempt.
   */
  async open(request: ClaimRequest, items: readonly StoredItem[]): Promise<OpenedClaim<PgTransaction>> {
    const [tables, scope, from] = [this.#tables, this.#scope, this.#from]
    const { token, alone, retentionMs: keepMs } = request
    const asked = { scope, keys: { of: token }, from }
    const before = triedKeys(tables, { ...asked, only: NOT_READ_COMMITTED, open: 'busy' })
    const mayBeNarrow = this.#isReadCommitted !== true
    const isOldestAsked = this.#claims++ % OLDEST_EVERY === 0
    const counting = { scope, token, keepMs, keys: items.map(({ key }) => key) }
    const { session, results } = await this.#sessions.claim({
      count: countClaim(tables, { scope, items, token, keepMs }),
      before: mayBeNarrow ? before : undefined,
      uncount: forgetClaim(tables, scope, token),
      first: beginClaim(tables, counting, { from, isOldestAsked }), // mutant: pg-row-before-the-effect
    })
    const [[insertedRow], [row]] = [results.first[0]?.rows ?? [], results.first[1]?.rows ?? []] as Begun
    const { transaction: writer = null, oldest = null, is_read_committed: isReadCommitted = false } = row ?? {}
    this.#isReadCommitted = isReadCommitted
    this.#from = oldest ?? from
    if (!mayBeNarrow && !isReadCommitted) return this.#again(request, items, session, items)
    const inserted = new AnsweredKeys(insertedRow?.keys, items)
    const tried = row?.is_tried === true ? await this.#tried(session, items, token, from) : []
    const counts = new Counts(items, [...(results.before as readonly TriedRow[]), ...tried], alone)
    if (counts.size === items.length) return { session, inserted, counted: counts, writer }
    const free = items.filter(({ key }) => counts.of(key) !== undefined)
    if (free.length === 0) return { session, inserted, counted: counts, writer }
    // The row of the claim must not count those that are not to run with it.
    const others = items.filter(({ key }) => counts.of(key) === undefined && inserted.has(key))
    const opened = await this.#again(request, free, session, items)
    return besides(opened, new Set(free.map(({ key }) => key)), new Set(others.map(({ key }) => key)))
  }

  async #tried(
    session: PgSession,
    items: readonly StoredItem[],
    token: OwnerToken,
    from: number,
  ): Promise<readonly TriedRow[]> {
    try {
      return await session.run(
        triedKeys(this.#tables, { scope: this.#scope, keys: { of: token }, from, open: 'nothing' }),
      )
    } catch (error) {
      await this.abandon(
        session,
        token,
        items.map(({ key }) => key),
      )
      throw error
    }
  }

  async #again(
    request: ClaimRequest,
    items: readonly StoredItem[],
    session: PgSession,
    inserted: readonly StoredItem[],
  ): Promise<OpenedClaim<PgTransaction>> {
    await this.abandon(
      session,
      request.token,
      inserted.map(({ key }) => key),
    )
    return this.open(request, items)
  }

  /**
   * Takes the attempts of a claim back in the COMMIT that frees the keys it has inserted. Otherwise whoever waits for one
   * of them would find the row and count it.
   */
  async abandon(session: Session<PgTransaction>, token: OwnerToken, inserted: readonly string[]): Promise<void> {
    const forgotten = forgetClaim(this.#tables, this.#scope, token)
    if (inserted.length === 0) return session.rollback(forgotten)
    const released = await session.release([forgotten, removeHeld(this.#tables, this.#scope, inserted)])
    if (released !== 'released') await this.#sessions.briefly(forgotten).catch(() => {})
  }
}

/** A claim of `keys`, for all that were asked for. `uncounted`: those without a record that are not part of it. */
function besides(
  { session, inserted, counted, writer }: OpenedClaim<PgTransaction>,
  keys: ReadonlySet<string>,
  uncounted: ReadonlySet<string>,
): OpenedClaim<PgTransaction> {
  return {
    session,
    inserted: {
      size: inserted.size + uncounted.size,
      has: (key) => uncounted.has(key) || (keys.has(key) && inserted.has(key)),
    },
    counted: { size: counted.size, of: (key) => (keys.has(key) ? counted.of(key) : undefined) },
    writer,
  }
}
