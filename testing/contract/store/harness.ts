import type { Key } from '../../../src/core/record.ts'
import type { Store } from '../../../src/ports/store.ts'
import type { Law } from '../law.ts'

/** One store on data of its own, for one law. */
export interface StoreHarness<Tx = unknown> {
  /** Opened. */
  readonly store: Store<Tx>
  /** Opened; another process on the same data: clients and connections of its own. */
  readonly secondStore: () => Promise<Store<Tx>>
  /** The store loses its record of the key: eviction, a failover, the hand of a person. Needed by the laws on `loss`. */
  readonly forget?: (key: Key) => Promise<void>
  /** The key has a record, and what is left there nobody can read: of another type, or of a newer version. Needed by the laws on `unreadable`. */
  readonly spoil?: (key: Key) => Promise<void>
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
  /**
   * A handler tries to end the transaction by itself, in words of the store's language, and swallows what comes of it. Another
   * `n` gives other words; resolves with them. Needed by the laws on `texts`.
   */
  evade?(tx: Tx, n: number): Promise<string>
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
  /** A harness that can `spoil`. */
  | 'unreadable'
  /** Retention ends records by itself: no purge has to run. */
  | 'retention'
  /** It compares payloads. */
  | 'digests'
  /** It keeps results with marks. */
  | 'results'
  /** People may look at records and decide about them. */
  | 'admin'
  /** It keeps with an attempt that failed its payload's digest, the end of its backoff and its cause, and shows what was set aside with its story. */
  | 'stories'
  /** Handlers send texts, which may end their transaction. */
  | 'texts'
  /** Two transactions of one process are open at once. */
  | 'parallel-transactions'

/** What every store must do. */
export type StoreLaw<H extends StoreHarness = StoreHarness> = Law<H, Capability>
