import {
  isFailure,
  Losses,
  StoreError,
  type Checkup,
  type ClaimRequest,
  type DurationMs,
  type InboxStore,
  type Key,
  type MarkVerdict,
  type OffsetsStore,
  type Positions,
  type ReleaseOptions,
  type ReleaseVerdict,
  type RenewVerdict,
  type Result,
  type SetAsideOptions,
  type SetAsideVerdict,
  type StoreAdmin,
  type StoreCalls,
  type TransactionAnswer,
  type TransactionClaim,
} from '../../src/spi.ts'
import { answered } from './answered.ts'
import { checkup } from './checkup.ts'
import { ClaimTransaction } from './claim-transaction.ts'
import { InboxAdmin } from './inbox/admin.ts'
import type { PgTransaction } from './tx/pg-transaction.ts'
import type { Place } from './place.ts'
import { Scopes } from './scopes.ts'
import type { Flushing, Sessions } from './sessions/session.ts'
import type { Tables } from './statements/tables.ts'
import { StoredPositions } from './offsets/stored-positions.ts'

interface StoreParts {
  readonly sessions: Sessions
  readonly tables: Tables
  readonly lockTimeoutMs: DurationMs
  /** How marks are flushed. */
  readonly flushing: Flushing
  /** Checks the server and brings the schema up to date. */
  readonly prepare: () => Promise<void>
  /** Opens a transaction for the granted items. If none is granted, none stays open. */
  readonly claim: (
    place: Place,
    request: ClaimRequest,
    lockTimeoutMs: DurationMs,
  ) => Promise<readonly TransactionAnswer<PgTransaction>[]>
}

/**
 * A store on Postgres that writes marks in the transaction of the effect: both commit together, or not at all. Only
 * attempts are committed before that, in another table, because they must survive whatever ends the transaction.
 */
abstract class TransactionStore implements StoreCalls<TransactionAnswer<PgTransaction>> {
  readonly checkup: Checkup
  readonly #parts: StoreParts
  readonly #scopes: Scopes
  readonly #losses = new Losses()
  #opened: Promise<void> | undefined

  constructor(parts: StoreParts, strategy: 'inbox' | 'offsets') {
    const { sessions, tables, flushing } = parts
    this.#parts = parts
    this.checkup = () => answered('checkup', () => checkup(parts, strategy))
    this.#scopes = new Scopes(sessions, tables, { flushing, strategy })
  }

  open(): Promise<void> {
    this.#opened ??= answered('open', this.#parts.prepare).catch((error: unknown) => {
      this.#opened = undefined
      throw error
    })
    return this.#opened
  }

  async claim(request: ClaimRequest): Promise<readonly TransactionAnswer<PgTransaction>[]> {
    if (request.items.length === 0) return []
    const { claim, lockTimeoutMs } = this.#parts
    return answered('claim', async () => claim(await this.placeOf(request.scope), request, lockTimeoutMs))
  }

  async renew(claims: readonly TransactionClaim<PgTransaction>[]): Promise<readonly RenewVerdict[]> {
    return claims.map((claimed) => {
      const transaction = transactionOf(claimed)
      return transaction.owns(claimed) && transaction.isOpen ? 'renewed' : 'lost'
    })
  }

  mark(
    claims: readonly TransactionClaim<PgTransaction>[],
    results: readonly (Result | undefined)[] = [],
  ): Promise<readonly MarkVerdict[]> {
    const { lockTimeoutMs } = this.#parts
    return this.#perTransaction('mark', claims, 'refused-busy', async (transaction, owned, places) => {
      if (owned.length < transaction.keys.size) {
        const text = `expected all ${transaction.keys.size} claims of a transaction in one mark, got ${owned.length}`
        throw new StoreError('STORE_MISUSED', text)
      }
      const kept = new Map<Key, Result>()
      for (const [index, { key }] of owned.entries()) {
        const result = results[places[index] ?? -1]
        if (result !== undefined) kept.set(key, result)
      }
      const failure = [...kept.values()].find(isFailure)
      const verdicts =
        failure === undefined
          ? await transaction.mark(kept)
          : await transaction.markFailure({ result: failure, lockTimeoutMs })
      return owned.map(({ key }) => verdicts.get(key) ?? 'refused-busy')
    })
  }

  release(claims: readonly TransactionClaim<PgTransaction>[], how: ReleaseOptions): Promise<readonly ReleaseVerdict[]> {
    return this.#perTransaction('release', claims, 'refused', (transaction, owned) => transaction.release(owned, how))
  }

  setAside(
    claims: readonly TransactionClaim<PgTransaction>[],
    as: 'given-up' | 'parked',
    { reason, refund = false, cause }: SetAsideOptions,
  ): Promise<readonly SetAsideVerdict[]> {
    const { lockTimeoutMs } = this.#parts
    return this.#perTransaction('set aside', claims, 'refused', (transaction, owned) =>
      transaction.setAside(owned, { as, reason, refund, cause, lockTimeoutMs }),
    )
  }

  protected async placeOf(scope: string): Promise<Place> {
    const { sessions, tables } = this.#parts
    return { sessions, tables, scope: await this.#scopes.idOf(scope), losses: this.#losses }
  }

  /** Answers in the order of the claims. A claim that its transaction did not grant gets `stranger`. */
  async #perTransaction<Verdict>(
    what: string,
    claims: readonly TransactionClaim<PgTransaction>[],
    stranger: Verdict,
    ask: (
      transaction: ClaimTransaction,
      owned: readonly TransactionClaim<PgTransaction>[],
      places: readonly number[],
    ) => Promise<readonly Verdict[]>,
  ): Promise<readonly Verdict[]> {
    const shares = new Map<
      ClaimTransaction,
      { readonly owned: TransactionClaim<PgTransaction>[]; readonly places: number[] }
    >()
    for (const [place, claimed] of claims.entries()) {
      const transaction = transactionOf(claimed)
      if (!transaction.owns(claimed)) continue
      let share = shares.get(transaction)
      if (share === undefined) shares.set(transaction, (share = { owned: [], places: [] }))
      share.owned.push(claimed)
      share.places.push(place)
    }
    const verdicts = claims.map(() => stranger)
    await answered(what, () =>
      Promise.all(
        [...shares].map(async ([transaction, { owned, places }]) => {
          const answers = await ask(transaction, owned, places)
          for (const [index, place] of places.entries()) verdicts[place] = answers[index] ?? stranger
        }),
      ),
    )
    return verdicts
  }
}

export class PgInbox extends TransactionStore implements InboxStore<PgTransaction> {
  readonly strategy = 'inbox'
  readonly admin: StoreAdmin

  constructor(parts: StoreParts) {
    super(parts, 'inbox')
    this.admin = answering(new InboxAdmin((scope) => this.placeOf(scope)))
  }
}

export class PgOffsets extends TransactionStore implements OffsetsStore<PgTransaction> {
  readonly strategy = 'offsets'
  readonly positions: Positions

  constructor(parts: StoreParts) {
    super(parts, 'offsets')
    const positions = new StoredPositions((scope) => this.placeOf(scope))
    this.positions = {
      next: (scope, streams) => answered('positions', () => positions.next(scope, streams)),
      pass: (scope, position) => answered('pass', () => positions.pass(scope, position)),
      hold: (scope, at, why) => answered('hold', () => positions.hold(scope, at, why)),
      prove: (scope, at) => answered('prove', () => positions.prove(scope, at)),
      list: (scope) => answered('list', () => positions.list(scope)),
      release: (scope, stream, how) => answered('release', () => positions.release(scope, stream, how)),
    }
  }
}

function transactionOf({ transaction }: TransactionClaim<PgTransaction>): ClaimTransaction {
  if (transaction instanceof ClaimTransaction) return transaction
  throw new StoreError('STORE_MISUSED', 'expected a claim of this store, got one of another')
}

function answering(admin: StoreAdmin): StoreAdmin {
  return {
    peek: (scope, keys) => answered('peek', () => admin.peek(scope, keys)),
    list: (scope, query) => answered('list', () => admin.list(scope, query)),
    resolve: (scope, keys, how) => answered('resolve', () => admin.resolve(scope, keys, how)),
    reopen: (scope, keys, why) => answered('reopen', () => admin.reopen(scope, keys, why)),
    forget: (scope, keys, why) => answered('forget', () => admin.forget(scope, keys, why)),
    purge: (scope, how) => answered('purge', () => admin.purge(scope, how)),
  }
}
