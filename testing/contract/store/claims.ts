import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Digest, OwnerToken } from '../../../src/core/record.ts'
import { systemEntropy } from '../../../src/foundation/entropy.ts'
import type { Claim, ClaimAnswer, ClaimItem, ClaimRequest, Store, TransactionAnswer } from '../../../src/ports/store.ts'
import type { LeaseHarness } from './harness.ts'

/** The scope of claims in the laws, unless they ask for another. */
export const SCOPE = 'contract/store'

/** Longer than every law. */
export const LONG_MS = 60_000
/** Ends soon. No law needs it to hold. */
export const SHORT_MS = 20
/** Ends within a law that waits for it, but not before the calls of that law. */
export const SHORT_RETENTION_MS = 1_000

export type HowToClaim = Partial<Omit<ClaimRequest, 'items'>>

export type Granted = Extract<TransactionAnswer<unknown>, { claim: unknown }>

export const newToken = (): OwnerToken => systemEntropy.ownerToken()

export function newItem({ key = newName(), digest = newDigest() }: Partial<ClaimItem> = {}): ClaimItem {
  return { key, digest }
}

export const newDigest = (): Digest => newName()

/** A name with the form of real keys and digests: 22 characters of base64url. */
export function newName(): string {
  return randomBytes(16).toString('base64url')
}

/**
 * Claims a batch, with a new token unless the law sends a call again. The answers have the type of a transaction, so
 * that a law for all strategies can pass its claims on; those of a lease have none.
 */
export function claimAll<Tx>(
  store: Store<Tx>,
  items: readonly (ClaimItem & { readonly claim?: unknown })[],
  how: HowToClaim = {},
): Promise<readonly TransactionAnswer<Tx>[]> {
  const usual = { scope: SCOPE, token: newToken(), leaseMs: LONG_MS, retentionMs: 60 * LONG_MS, alone: false }
  const asked = items.map((given): ClaimItem => {
    const { claim: _, ...item } = given // An item of given() has its claim with it.
    return item
  })
  return store.claim({ ...usual, ...how, items: asked }) as Promise<readonly TransactionAnswer<Tx>[]>
}

export async function claim<Tx>(
  store: Store<Tx>,
  item: ClaimItem,
  how: HowToClaim = {},
): Promise<TransactionAnswer<Tx>> {
  return only(await claimAll(store, [item], how))
}

/** Claims an item that must be granted. */
export async function hold<Tx>(
  store: Store<Tx>,
  item: ClaimItem,
  how: HowToClaim = {},
): Promise<Extract<TransactionAnswer<Tx>, { claim: unknown }>> {
  return grantedBy(await claim(store, item, how))
}

export function grantedBy<A extends ClaimAnswer<unknown>>(answer: A | undefined): Extract<A, { claim: unknown }> {
  if (answer === undefined || !('claim' in answer)) {
    throw new Error(`expected a claim that is granted, got ${answer?.verdict ?? 'no answer'}`)
  }
  return answer as Extract<A, { claim: unknown }>
}

/** The same claim with the token of somebody who never got it. */
export function forged<C extends Claim>(claimed: C): C {
  return { ...claimed, token: newToken() }
}

export function only<T>(answers: readonly T[]): T {
  const [answer] = answers
  if (answers.length !== 1 || answer === undefined) throw new Error(`expected one answer, got ${answers.length}`)
  return answer
}

export async function verdictOf(
  answer: Promise<TransactionAnswer<unknown>>,
): Promise<TransactionAnswer<unknown>['verdict']> {
  return (await answer).verdict
}

/** A claim whose lease has ended, as a dead process leaves it behind. */
export async function abandon(harness: LeaseHarness, item: ClaimItem, how: HowToClaim = {}): Promise<Granted> {
  const granted = await hold(harness.store, item, { ...how, leaseMs: SHORT_MS })
  await leaseEnds(harness, item)
  return granted
}

/** A claim by a stranger without `alone` writes nothing: it answers busy, then in doubt. */
export async function leaseEnds(harness: LeaseHarness, item: ClaimItem): Promise<void> {
  await harness.advance?.(SHORT_MS)
  await until(harness, 'in-doubt', async () => {
    const { verdict } = await claim(harness.store, item)
    if (verdict === 'claimed' || verdict === 'taken-over') {
      throw new Error(
        `expected in-doubt for who does not ask alone, once the lease of another has ended, got ${verdict}`,
      )
    }
    return verdict !== 'busy'
  })
}

/** Polls until the store gives this answer. With a manual clock it asks once. */
export async function until(harness: LeaseHarness, answer: string, isSo: () => Promise<boolean>): Promise<void> {
  const attempts = harness.advance === undefined ? 1_000 : 1
  for (let attempt = 0; attempt < attempts; attempt++) {
    if (await isSo()) return
    await sleep(10)
  }
  throw new Error(`expected ${answer} by now, got another answer all the time`)
}
