import type { Key } from '../../../src/core/record.ts'
import type { Store } from '../../../src/ports/store.ts'
import type { Law } from '../law.ts'

/** One store on data of its own, for one law. */
export interface StoreHarness<Tx = unknown> {
  /** Opened. */
  readonly store: Store<Tx>
  /** Opened. Stands for another process on the same data: it has its own clients and connections. */
  readonly secondStore: () => Promise<Store<Tx>>
  /**
   * Removes the store's record of the key, as an eviction, a failover or a person does. Required by the laws on `loss`.
   */
  readonly forget?: (key: Key) => Promise<void>
  /** Makes the record of the key unreadable: another type, or a newer version. Required by the laws on `unreadable`. */
  readonly spoil?: (key: Key) => Promise<void>
  /** Closes every client that the harness opened, and removes its data. */
  readonly close: () => Promise<void>
}

export interface LeaseHarness extends StoreHarness {
  /** Moves the store's clock. Without it the laws wait for the store's own answers. */
  readonly advance?: (ms: number) => Promise<void>
}

export interface InboxHarness<Tx = unknown> extends StoreHarness<Tx> {
  /** Writes one effect through the transaction. The effect is a name that may repeat. */
  write(tx: Tx, effect: string): Promise<unknown>
  /** Starts a query that is still pending after a mark was tried. */
  stall(tx: Tx): Promise<unknown>
  /** Makes a query fail in the database; rejects. */
  fail(tx: Tx): Promise<unknown>
  /**
   * Lets a handler try to end the transaction itself, in the store's language, and ignore the result. Each `n` uses
   * another text; resolves with the text. Required by the laws on `texts`.
   */
  evade?(tx: Tx, n: number): Promise<string>
  /** Runs an SQL statement. Required by the laws on `savepoints`. */
  query?(tx: Tx, text: string): Promise<unknown>
  /** How often the effect is committed, as a connection outside of all claims sees it. */
  committed(effect: string): Promise<number>
}

export interface OffsetsHarness<Tx = unknown> extends InboxHarness<Tx> {
  /** Moves a stream from outside: a restore of the database, or a person. `undefined`: removes its row. */
  move(stream: string, next: bigint | undefined): Promise<void>
}

/** Capabilities that a store may lack, with a reason. */
export type Capability =
  /** The harness has `forget`. */
  | 'loss'
  /** The harness has `spoil`. */
  | 'unreadable'
  /** Records expire with their retention, without a purge. */
  | 'retention'
  /** The store compares payloads. */
  | 'digests'
  /** The store keeps results with marks. */
  | 'results'
  /** People can look at records and decide about them. */
  | 'admin'
  /** A done record says the scope that it is of. Whatever is not done always does. */
  | 'done-scopes'
  /** `admin.import` records messages as done that happened before. */
  | 'import'
  /** `admin.audit` shows the decisions of people. */
  | 'audit'
  /** `admin.note` adds to the audit what people do beside the records. */
  | 'notes'
  /** `admin.replays` keeps the state of replays. */
  | 'replays'
  /** `admin.knownSince` says since when absence of a record proves something. */
  | 'known-since'
  /**
   * The store keeps payload digest, end of the backoff and cause with a failed attempt, and shows the full record of a
   * message that was set aside.
   */
  | 'stories'
  /** The store keeps when a message was marked, and tells it to every later claim. */
  | 'mark-times'
  /** Handlers send text statements, which may end their transaction. */
  | 'texts'
  /** Transactions have SQL savepoints. */
  | 'savepoints'
  /** Two transactions of one process can be open at once. */
  | 'parallel-transactions'

/** A requirement on every store. */
export type StoreLaw<H extends StoreHarness = StoreHarness> = Law<H, Capability>
