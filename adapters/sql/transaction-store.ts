import {
  isFailure,
  StoreError,
  type Checkup,
  type ClaimRequest,
  type DurationMs,
  type Key,
  type MarkVerdict,
  type ReleaseOptions,
  type ReleaseVerdict,
  type RenewVerdict,
  type Result,
  type SetAsideOptions,
  type SetAsideVerdict,
  type StoreCalls,
  type TransactionAnswer,
  type TransactionClaim,
} from '../../src/spi.ts'
import { ClaimTransaction } from './claim-transaction.ts'
import type { Database } from './database.ts'
import { answered } from './errors.ts'
import type { Place } from './place.ts'
import type { Sessions } from './session.ts'

export interface StoreParts<Tx, P extends Place<Tx>> {
  readonly sessions: Sessions<Tx>
  readonly database: Pick<Database<P, unknown>, 'open' | 'placeOf'>
  readonly lockTimeoutMs: DurationMs
  readonly checkup: Checkup
}

/**
 * A store that writes marks in the transaction of the effect: both commit together, or not at all. Only attempts are
 * committed before that, in another table, because they must survive whatever ends the transaction.
 */
export abstract class TransactionStore<Tx, P extends Place<Tx>> implements StoreCalls<TransactionAnswer<Tx>> {
  readonly checkup: Checkup
  readonly #parts: StoreParts<Tx, P>

  constructor(parts: StoreParts<Tx, P>) {
    this.#parts = parts
    this.checkup = () => this.answered('checkup', parts.checkup)
  }

  /** Opens a transaction for the granted items. If none is granted, none stays open. */
  protected abstract grant(
    place: P,
    request: ClaimRequest,
    lockTimeoutMs: DurationMs,
  ): Promise<readonly TransactionAnswer<Tx>[]>

  async open(): Promise<void> {
    await this.#parts.database.open()
  }

  async claim(request: ClaimRequest): Promise<readonly TransactionAnswer<Tx>[]> {
    if (request.items.length === 0) return []
    const { database, lockTimeoutMs } = this.#parts
    return this.answered('claim', async () => this.grant(await database.placeOf(request.scope), request, lockTimeoutMs))
  }

  async renew(claims: readonly TransactionClaim<Tx>[]): Promise<readonly RenewVerdict[]> {
    return claims.map((claimed) => {
      const transaction = transactionOf(claimed)
      return transaction.owns(claimed) && transaction.isOpen ? 'renewed' : 'lost'
    })
  }

  mark(
    claims: readonly TransactionClaim<Tx>[],
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

  release(claims: readonly TransactionClaim<Tx>[], how: ReleaseOptions): Promise<readonly ReleaseVerdict[]> {
    return this.#perTransaction('release', claims, 'refused', (transaction, owned) => transaction.release(owned, how))
  }

  setAside(
    claims: readonly TransactionClaim<Tx>[],
    as: 'given-up' | 'parked',
    { reason, refund = false, cause }: SetAsideOptions,
  ): Promise<readonly SetAsideVerdict[]> {
    const { lockTimeoutMs } = this.#parts
    return this.#perTransaction('set aside', claims, 'refused', (transaction, owned) =>
      transaction.setAside(owned, { as, reason, refund, cause, lockTimeoutMs }),
    )
  }

  protected placeOf(scope: string): Promise<P> {
    return this.#parts.database.placeOf(scope)
  }

  protected answered<T>(what: string, ask: () => Promise<T>): Promise<T> {
    return answered(this.#parts.sessions.errors, what, ask)
  }

  /** Answers in the order of the claims. A claim that its transaction did not grant gets `stranger`. */
  async #perTransaction<Verdict>(
    what: string,
    claims: readonly TransactionClaim<Tx>[],
    stranger: Verdict,
    ask: (
      transaction: ClaimTransaction<Tx>,
      owned: readonly TransactionClaim<Tx>[],
      places: readonly number[],
    ) => Promise<readonly Verdict[]>,
  ): Promise<readonly Verdict[]> {
    const shares = new Map<
      ClaimTransaction<Tx>,
      { readonly owned: TransactionClaim<Tx>[]; readonly places: number[] }
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
    await this.answered(what, () =>
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

function transactionOf<Tx>({ transaction }: TransactionClaim<Tx>): ClaimTransaction<Tx> {
  if (transaction instanceof ClaimTransaction) return transaction as ClaimTransaction<Tx>
  throw new StoreError('STORE_MISUSED', 'expected a claim of this store, got one of another')
}
