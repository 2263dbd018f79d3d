import {
  isFailure,
  StoreError,
  type Checkup,
  type ClaimRequest,
  type InboxStore as InboxPort,
  type Key,
  type MarkVerdict,
  type ReleaseOptions,
  type ReleaseVerdict,
  type RenewVerdict,
  type Result,
  type SetAsideOptions,
  type SetAsideVerdict,
  type StoreAdmin,
  type TransactionAnswer,
  type TransactionClaim,
} from '../../../src/spi.ts'
import { refuseSerializable } from '../isolation.ts'
import type { Database } from '../database.ts'
import type { MysqlTransaction } from '../tx/mysql-transaction.ts'
import { answered } from '../sql-errors.ts'
import { InboxAdmin } from './admin.ts'
import { claimOfInbox } from './claim.ts'
import { ClaimTransaction } from './claim-transaction.ts'

/**
 * A store that writes marks in the transaction of the effect: both commit together, or not at all. Only attempts are
 * committed before that, in another table, because they must survive whatever ends the transaction.
 */
export class InboxStore implements InboxPort<MysqlTransaction> {
  readonly strategy = 'inbox'
  readonly admin: StoreAdmin
  readonly checkup: Checkup
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
    this.admin = new InboxAdmin(database)
    this.checkup = () => database.checkup('inbox')
  }

  async open(): Promise<void> {
    await this.#database.open()
    await answered('open', () => refuseSerializable(this.#database.sessions))
  }

  async claim(request: ClaimRequest): Promise<readonly TransactionAnswer<MysqlTransaction>[]> {
    if (request.items.length === 0) return []
    return answered('claim', async () => {
      const place = await this.#database.placeOf(request.scope)
      return claimOfInbox(place, request, this.#database.lockTimeoutMs)
    })
  }

  async renew(claims: readonly TransactionClaim<MysqlTransaction>[]): Promise<readonly RenewVerdict[]> {
    return claims.map((claimed) => {
      const transaction = transactionOf(claimed)
      return transaction.owns(claimed) && transaction.isOpen ? 'renewed' : 'lost'
    })
  }

  mark(
    claims: readonly TransactionClaim<MysqlTransaction>[],
    results: readonly (Result | undefined)[] = [],
  ): Promise<readonly MarkVerdict[]> {
    const resultOf = new Map(claims.map((claimed, index) => [claimed, results[index]]))
    return this.#perTransaction('mark', claims, 'refused-busy', async (transaction, owned) => {
      if (owned.length < transaction.keys.size) {
        const text = `expected all ${transaction.keys.size} claims of a transaction in one mark, got ${owned.length}`
        throw new StoreError('STORE_MISUSED', text)
      }
      const kept = new Map<Key, Result>()
      for (const claimed of owned) {
        const result = resultOf.get(claimed)
        if (result !== undefined) kept.set(claimed.key, result)
      }
      const failure = [...kept.values()].find(isFailure)
      const verdicts = await (failure === undefined ? transaction.mark(kept) : transaction.markFailure(failure))
      return owned.map(({ key }) => verdicts.get(key) ?? 'refused-busy')
    })
  }

  release(
    claims: readonly TransactionClaim<MysqlTransaction>[],
    how: ReleaseOptions,
  ): Promise<readonly ReleaseVerdict[]> {
    return this.#perTransaction('release', claims, 'refused', (transaction, owned) => transaction.release(owned, how))
  }

  setAside(
    claims: readonly TransactionClaim<MysqlTransaction>[],
    as: 'given-up' | 'parked',
    why: SetAsideOptions,
  ): Promise<readonly SetAsideVerdict[]> {
    return this.#perTransaction('set aside', claims, 'refused', (transaction, owned) =>
      transaction.setAside(owned, { as, why }),
    )
  }

  /** Answers in the order of the claims. A claim that its transaction did not grant gets `stranger`. */
  async #perTransaction<Verdict>(
    what: string,
    claims: readonly TransactionClaim<MysqlTransaction>[],
    stranger: Verdict,
    ask: (
      transaction: ClaimTransaction,
      owned: readonly TransactionClaim<MysqlTransaction>[],
    ) => Promise<readonly Verdict[]>,
  ): Promise<readonly Verdict[]> {
    const owned = new Map<ClaimTransaction, TransactionClaim<MysqlTransaction>[]>()
    for (const claimed of claims) {
      const transaction = transactionOf(claimed)
      if (!transaction.owns(claimed)) continue
      const ofIt = owned.get(transaction)
      if (ofIt === undefined) owned.set(transaction, [claimed])
      else ofIt.push(claimed)
    }
    const verdicts = new Map<TransactionClaim<MysqlTransaction>, Verdict>()
    await answered(what, () =>
      Promise.all(
        [...owned].map(async ([transaction, ofIt]) => {
          const answers = await ask(transaction, ofIt)
          for (const [index, claimed] of ofIt.entries()) verdicts.set(claimed, answers[index] ?? stranger)
        }),
      ),
    )
    return claims.map((claimed) => verdicts.get(claimed) ?? stranger)
  }
}

function transactionOf({ transaction }: TransactionClaim<MysqlTransaction>): ClaimTransaction {
  if (transaction instanceof ClaimTransaction) return transaction
  throw new StoreError('STORE_MISUSED', 'expected a claim of this store, got one of another')
}
