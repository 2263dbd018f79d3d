import {
  isFailure,
  StoreError,
  type Checkup,
  type ClaimRequest,
  type DurationMs,
  type IdleLimit,
  type Key,
  type MarkVerdict,
  type Outbox,
  type Result,
  type StoreCalls,
  type TransactionAnswer,
  type TransactionClaim,
} from '../../src/internal.ts'
import { ClaimTransaction } from './claim-transaction.ts'
import type { Database } from './database.ts'
import { answered, type SqlErrors } from './errors.ts'
import type { HistoryPlace } from './history/statements.ts'
import type { Place } from './place.ts'
import type { Sessions } from './session.ts'

export interface StoreParts<Tx, P extends Place<Tx> & HistoryPlace> {
  /** The value of the label `store` in metrics. */
  readonly name: string
  readonly sessions: Sessions<Tx>
  readonly database: Pick<Database<P, unknown>, 'open' | 'placeOf' | 'placeOfUse'>
  readonly lockTimeoutMs: DurationMs
  readonly checkup: Checkup
  readonly idleLimit?: IdleLimit | undefined
  readonly outbox?: Outbox | undefined
}

/** Opens a transaction for the granted items. If none is granted, none stays open. */
type Grant<Tx, P> = (
  place: P,
  request: ClaimRequest,
  lockTimeoutMs: DurationMs,
) => Promise<readonly TransactionAnswer<Tx>[]>

/**
 * A store that writes marks in the transaction of the effect: both commit together, or not at all. Only attempts are
 * committed before that, in another table, because they must survive whatever ends the transaction.
 */
export function transactionStore<Tx, P extends Place<Tx> & HistoryPlace>(
  { name, sessions, database, lockTimeoutMs, checkup, idleLimit, outbox }: StoreParts<Tx, P>,
  grant: Grant<Tx, P>,
): StoreCalls<TransactionAnswer<Tx>> {
  const { errors } = sessions
  return {
    name,
    checkup: () => answered(errors, 'checkup', checkup),
    ...(idleLimit !== undefined && { idleLimit }),
    ...(outbox !== undefined && { outbox }),
    open: async () => void (await database.open()),
    claim: async (request) => {
      if (request.items.length === 0) return []
      return answered(errors, 'claim', async () =>
        grant(await database.placeOfUse(request.scope, request.retentionMs), request, lockTimeoutMs),
      )
    },
    renew: async (claims: readonly TransactionClaim<Tx>[]) =>
      claims.map((claimed) => {
        const transaction = transactionOf(claimed)
        return transaction.owns(claimed) && transaction.isOpen ? 'renewed' : 'lost'
      }),
    mark: (claims: readonly TransactionClaim<Tx>[], results = []) =>
      perTransaction<Tx, MarkVerdict>(errors, 'mark', claims, 'refused-busy', async (transaction, owned, places) => {
        if (owned.length < transaction.toMark) {
          const text = `expected all ${transaction.toMark} claims of a transaction in one mark, got ${owned.length}`
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
      }),
    release: (claims: readonly TransactionClaim<Tx>[], how) =>
      perTransaction(errors, 'release', claims, 'refused', (transaction, owned) => transaction.release(owned, how)),
    setAside: (claims: readonly TransactionClaim<Tx>[], as, { reason, refund = false, cause }) =>
      perTransaction(errors, 'set aside', claims, 'refused', (transaction, owned) =>
        transaction.setAside(owned, { as, reason, refund, cause, lockTimeoutMs }),
      ),
  }
}

/** Answers in the order of the claims. A claim that its transaction did not grant gets `stranger`. */
async function perTransaction<Tx, Verdict>(
  errors: SqlErrors,
  what: string,
  claims: readonly TransactionClaim<Tx>[],
  stranger: Verdict,
  ask: (
    transaction: ClaimTransaction<Tx>,
    owned: readonly TransactionClaim<Tx>[],
    places: readonly number[],
  ) => Promise<readonly Verdict[]>,
): Promise<readonly Verdict[]> {
  const shares = new Map<ClaimTransaction<Tx>, { readonly owned: TransactionClaim<Tx>[]; readonly places: number[] }>()
  for (const [place, claimed] of claims.entries()) {
    const transaction = transactionOf(claimed)
    if (!transaction.owns(claimed)) continue
    let share = shares.get(transaction)
    if (share === undefined) shares.set(transaction, (share = { owned: [], places: [] }))
    share.owned.push(claimed)
    share.places.push(place)
  }
  const verdicts = claims.map(() => stranger)
  await answered(errors, what, () =>
    Promise.all(
      [...shares].map(async ([transaction, { owned, places }]) => {
        const answers = await ask(transaction, owned, places)
        for (const [index, place] of places.entries()) verdicts[place] = answers[index] ?? stranger
      }),
    ),
  )
  return verdicts
}

function transactionOf<Tx>({ transaction }: TransactionClaim<Tx>): ClaimTransaction<Tx> {
  if (transaction instanceof ClaimTransaction) return transaction as ClaimTransaction<Tx>
  throw new StoreError('STORE_MISUSED', 'expected a claim of this store, got one of another')
}
