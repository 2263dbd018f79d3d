import type {
  ClaimItem,
  LentTransaction,
  Store,
  TransactionAnswer,
  TransactionClaim,
} from '../../../src/ports/store.ts'
import { abandon, claimAll, grantedBy, hold, newItem, type Granted, type HowToClaim } from './claims.ts'
import type { LeaseHarness } from './harness.ts'

// What laws begin with: new keys in the state that a law is about.

export const ALONE = { alone: true }
export const NO_REFUND = { refund: false, doubt: false }
export const REFUND = { refund: true, doubt: false }
export const IN_DOUBT = { refund: false, doubt: true }

/** Claims a new key, which must be granted. */
export async function holdNew<Tx>(
  store: Store<Tx>,
  how: HowToClaim = {},
): Promise<Extract<TransactionAnswer<Tx>, { claim: unknown }> & { readonly item: ClaimItem }> {
  const item = newItem()
  return { ...(await hold(store, item, how)), item }
}

/** Claims so many new keys in one batch, all of which must be granted. */
export async function holdMany<Tx>(
  store: Store<Tx>,
  count: number,
): Promise<{ readonly items: readonly ClaimItem[]; readonly claims: readonly TransactionClaim<Tx>[] }> {
  const items = Array.from({ length: count }, () => newItem())
  return { items, claims: (await claimAll(store, items)).map((answer) => grantedBy(answer).claim) }
}

/** A new key in each state, and the claim by which it got there. What is set aside has the reason `no luck`. */
export async function given<const States extends readonly GivenState[]>(
  store: Store<unknown>,
  ...states: States
): Promise<{ readonly [At in keyof States]: ClaimItem & { readonly claim: TransactionClaim<unknown> } }> {
  const items = []
  for (const state of states) {
    const { item, claim: claimed } = await holdNew(store)
    if (state === 'done') await store.mark([claimed])
    else if (state === 'released') await store.release([claimed], NO_REFUND)
    else if (state !== 'held') await store.setAside([claimed], state, { reason: 'no luck' })
    items.push({ ...item, claim: claimed })
  }
  return items as never
}

type GivenState = 'held' | 'released' | 'done' | 'given-up' | 'parked'

/** The transaction of a claim, for a handler. */
export function lend<Tx>(claimed: TransactionClaim<Tx>): LentTransaction<Tx> {
  if (claimed.transaction === undefined) throw new Error('expected a claim with a transaction')
  return claimed.transaction.lend()
}

/** A new key whose lease has ended, as a dead process leaves it behind. */
export async function abandonNew(
  harness: LeaseHarness,
  how: HowToClaim = {},
): Promise<Granted & { readonly item: ClaimItem }> {
  const item = newItem()
  return { ...(await abandon(harness, item, how)), item }
}
