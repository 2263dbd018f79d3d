import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Claim, ClaimAnswer, ClaimItem, ClaimRequest, Store } from '../../src/ports/store.ts'
import type { Digest, Key, OwnerToken } from '../../src/core/record.ts'
import { systemEntropy } from '../../src/entropy.ts'

/** One store on data of its own, for one law. */
export interface StoreHarness<Tx = unknown> {
  /** Opened. */
  readonly store: Store<Tx>
  /** Opened; another process on the same data: clients and connections of its own. */
  readonly secondStore: () => Promise<Store<Tx>>
  /** The store loses its record of the key: eviction, a failover, the hand of a person. Needed by the laws on `loss`. */
  readonly forget?: (key: Key) => Promise<void>
  /** Closes every client that the harness opened, and removes its data. */
  readonly close: () => Promise<void>
}

export interface LeaseHarness extends StoreHarness {
  /** Moves the store's clock. Without it the laws wait on the store's own answers. */
  readonly advance?: (ms: number) => Promise<void>
}

export interface InboxHarness<Tx = unknown> extends StoreHarness<Tx> {
  /** Writes one effect through the transaction; the effect is a name that is free to repeat. */
  write(tx: Tx, effect: string): Promise<unknown>
  /** Starts a query that is still pending when a mark has been tried after it. */
  stall(tx: Tx): Promise<unknown>
  /** Makes a query fail in the database; rejects. */
  fail(tx: Tx): Promise<unknown>
  /** How often the effect is committed, as a connection outside all claims sees it. */
  committed(effect: string): Promise<number>
}

export interface OffsetsHarness<Tx = unknown> extends InboxHarness<Tx> {
  /** Another hand moves a stream: a restore of the database, or a person. `undefined`: it has no row any more. */
  move(stream: string, next: bigint | undefined): Promise<void>
}

/** What a store may lack, with a reason. */
export type Capability =
  /** A harness that can `forget`. */
  | 'loss'
  /** Retention ends records by itself: no purge has to run. */
  | 'retention'
  /** It compares payloads. */
  | 'digests'
  /** It keeps results with marks. */
  | 'results'
  /** People may look at records and decide about them. */
  | 'admin'
  /** Two transactions of one process are open at once. */
  | 'parallel-transactions'

/** What every store must do, as data, so that a wrong store can be shown to break it. */
export interface Law<H extends StoreHarness = StoreHarness> {
  readonly name: string
  readonly needs?: Capability
  run(harness: H): Promise<void>
}

/** Of all claims of the laws. */
export const SCOPE = 'contract/store'

/** Outlives every law. */
export const LONG_MS = 60_000
/** Has run out before long. No law needs it to hold. */
export const SHORT_MS = 20
/** Ends within a law that waits for it, and not before the calls of that law. */
export const SHORT_RETENTION_MS = 1_000

export type HowToClaim = Partial<Omit<ClaimRequest, 'items' | 'scope'>>

export type Granted = Extract<ClaimAnswer<unknown>, { claim: unknown }>

export const newToken = (): OwnerToken => systemEntropy.ownerToken()

export function newItem({ key = newName(), digest = newDigest() }: Partial<ClaimItem> = {}): ClaimItem {
  return { key, digest }
}

export const newDigest = (): Digest => newName()

/** Of the shape of real keys and digests: 22 characters of base64url. */
export function newName(): string {
  return randomBytes(16).toString('base64url')
}

/** Claims a batch, with a new token unless the law sends a call again. */
export function claimAll<Tx>(
  store: Store<Tx>,
  items: readonly ClaimItem[],
  how: HowToClaim = {},
): Promise<readonly ClaimAnswer<Tx>[]> {
  const usual = { token: newToken(), leaseMs: LONG_MS, retentionMs: 60 * LONG_MS, alone: false }
  return store.claim({ ...usual, ...how, scope: SCOPE, items })
}

export async function claim<Tx>(store: Store<Tx>, item: ClaimItem, how: HowToClaim = {}): Promise<ClaimAnswer<Tx>> {
  return only(await claimAll(store, [item], how))
}

/** Claims what must be granted. */
export async function hold<Tx>(
  store: Store<Tx>,
  item: ClaimItem,
  how: HowToClaim = {},
): Promise<Extract<ClaimAnswer<Tx>, { claim: unknown }>> {
  return grantedBy(await claim(store, item, how))
}

export function grantedBy<Tx>(answer: ClaimAnswer<Tx> | undefined): Extract<ClaimAnswer<Tx>, { claim: unknown }> {
  if (answer === undefined || !('claim' in answer)) {
    throw new Error(`expected a claim that is granted, got ${answer?.verdict ?? 'no answer'}`)
  }
  return answer
}

/** The same claim in the hands of someone who never got it. */
export function forged<Tx>(claimed: Claim<Tx>): Claim<Tx> {
  return { ...claimed, token: newToken() }
}

export function only<T>(answers: readonly T[]): T {
  const [answer] = answers
  if (answers.length !== 1 || answer === undefined) throw new Error(`expected one answer, got ${answers.length}`)
  return answer
}

export async function verdictOf(answer: Promise<ClaimAnswer<unknown>>): Promise<ClaimAnswer<unknown>['verdict']> {
  return (await answer).verdict
}

/** A claim whose lease has run out: what a process that died leaves behind. */
export async function abandon(harness: LeaseHarness, item: ClaimItem, how: HowToClaim = {}): Promise<Granted> {
  const granted = await hold(harness.store, item, { ...how, leaseMs: SHORT_MS })
  await leaseEnds(harness, item)
  return granted
}

/** A stranger's claim that is not alone asks without writing: busy, then in doubt. */
export async function leaseEnds(harness: LeaseHarness, item: ClaimItem): Promise<void> {
  await harness.advance?.(SHORT_MS)
  await until(harness, async () => (await claim(harness.store, item)).verdict !== 'busy')
}

/** Polls a condition on the store's own answers; a clock that is moved by hand is asked once. */
export async function until(harness: LeaseHarness, isSo: () => Promise<boolean>): Promise<void> {
  const attempts = harness.advance === undefined ? 1_000 : 1
  for (let attempt = 0; attempt < attempts; attempt++) {
    if (await isSo()) return
    await sleep(10)
  }
  throw new Error('expected the store to change its answer by now')
}
