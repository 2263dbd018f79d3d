import type {
  Cause,
  ClaimVerdict,
  Digest,
  Key,
  MarkVerdict,
  OwnerToken,
  Reason,
  Result,
  ReleaseVerdict,
  RenewVerdict,
  SetAsideVerdict,
} from '../core/record.ts'
import type { StoredPosition } from '../core/position.ts'
import type { DurationMs, EpochMs } from '../core/units.ts'
import type { Checkup } from './checkup.ts'
import type { Outbox, Outgoing } from './outbox.ts'
import type { StreamPosition } from './source.ts'
import type { StoreAdmin, Why } from './store-admin.ts'

/**
 * Keeps the records, by one of three strategies. One instance may serve many consumers. A class that wraps any store
 * implements `StoreCalls`.
 */
export type Store<Tx = never> = LeaseStore | InboxStore<Tx> | OffsetsStore<Tx>

export type Strategy = Store['strategy']

/** A claim holds until a time, unless it is renewed. */
export interface LeaseStore extends StoreCalls<LeaseAnswer> {
  readonly strategy: 'lease'
  /**
   * The store executes and answers calls in the order in which they were made, as one connection does. The library then
   * sends claims right behind the marks that make room for them. After a fault the order may differ: only speed depends
   * on it.
   */
  readonly inOrder?: boolean
  /**
   * The claim writes the mark, before the handler: at most once. `renew` and `mark` do nothing then, and a release in
   * doubt leaves the mark. No result can be kept.
   */
  readonly marksFirst?: boolean
}

/**
 * A claim holds while a transaction is open, and the effect is written in that transaction. All keys of one `claim()`
 * share it. `mark` is its COMMIT and takes all its claims but those that were given back (`OpenTransaction.giveBack`).
 * `release` rolls it back, with the first claim that it names. `renew` answers `renewed` while its connection lives.
 * Beside what holds for every store:
 * - `claim` commits the attempt count before it answers, outside the transaction of the effect. It locks its keys in
 *   sorted order until its transaction ends; a key that another transaction holds answers `busy`.
 * - A key with attempts of earlier claims answers `again-alone` with their number, unless the request has `alone`.
 * - A claim that is sent again with the same token rolls back the transaction of the first call and counts no second
 *   attempt.
 * - `mark` writes the records and commits. It throws a `TransactionError` if a query of the handler is pending or has
 *   failed, also one that ends after its `tx` was revoked. If a result has `isFailure`, its transaction has only this one
 *   claim: the other writes are rolled back, and the mark is still written.
 * - `release` rolls back and keeps the attempt, unless it has `refund`. `setAside` rolls back, then writes its record in
 *   a transaction of its own.
 * - After its transaction has ended, `mark` answers `already-marked` if it was committed and `refused-busy` if not;
 *   `release` answers `refused` or `already-released`; `setAside` answers `refused` while another transaction holds the
 *   key.
 */
export interface InboxStore<Tx> extends StoreCalls<TransactionAnswer<Tx>> {
  readonly strategy: 'inbox'
}

/**
 * As an inbox, but the position of the stream, one number for each stream, says which messages are done, instead of a
 * record for each key. It compares no digests and keeps no results. Only one message of a stream can be set aside at a
 * time: the lowest that is not over.
 */
export interface OffsetsStore<Tx> extends StoreCalls<TransactionAnswer<Tx>> {
  readonly strategy: 'offsets'
  readonly positions: Positions
}

/**
 * The calls of all strategies. Duties of every method, tested by one contract suite against `transition()`:
 * - It takes a batch and answers in the same order. Each key changes atomically; the batch as a whole need not.
 * - The caller may send it again with the same token after any error. It then answers as if the first call had been the
 *   only one.
 * - It rejects with a `StoreError`, within a timeout of its own, when the answer is unknown. It never guesses.
 * - An unreadable record affects its own key only: `claim` answers `unreadable`, no other method changes it, and all
 *   other keys of the batch are answered as usual.
 */
export interface StoreCalls<Answer = ClaimAnswer<unknown>> {
  /** Short, for the label `store` of metrics: `redis-lease`, `postgres-inbox`. @defaultValue the strategy */
  readonly name?: string
  /**
   * `sequences`: its keys consist of a source and a number, and IDs must be those of `messageId.sourceSequence()`.
   * @defaultValue 'ids'
   */
  readonly keys?: 'ids' | 'sequences'
  /** Publishes what handlers have written for it, as long as consumers run on the store. */
  readonly outbox?: Outbox | undefined
  /** Operations for people: inspect records and decide about them. */
  readonly admin?: StoreAdmin
  /** Checks how durable the marks on this server are. */
  readonly checkup?: Checkup
  /**
   * Inbox and offsets: after how long the server ends the transaction of a handler that sends it nothing, as far as the
   * store decides that. `undefined`: never.
   */
  readonly idleLimit?: IdleLimit | undefined
  /**
   * Calls `listener` whenever the store may be reachable again, such as after its client reconnected; callers that wait
   * to retry then retry at once. It may call too often or not at all. The returned function unsubscribes.
   */
  onReachable?(listener: () => void): () => void
  /** Idempotent. Checks the server and brings its schema up to date. */
  open(): Promise<void>
  claim(request: ClaimRequest): Promise<readonly Answer[]>
  renew(claims: readonly Claim[], leaseMs: DurationMs): Promise<readonly RenewVerdict[]>
  /**
   * The marks are durable when it resolves. `results` has the order of the claims and is kept with their marks.
   */
  mark(claims: readonly Claim[], results?: readonly (Result | undefined)[]): Promise<readonly MarkVerdict[]>
  release(claims: readonly Claim[], how: ReleaseOptions): Promise<readonly ReleaseVerdict[]>
  /**
   * For a record in doubt, `given-up` is written and answered as `parked`. Each later claim of the record answers `why`
   * and the time.
   */
  setAside(
    claims: readonly Claim[],
    as: 'given-up' | 'parked',
    why: SetAsideOptions,
  ): Promise<readonly SetAsideVerdict[]>
}

export interface IdleLimit {
  readonly limitMs: DurationMs
  /** What to change: an option, or a setting of the server. */
  readonly setting: string
}

/** Each method may be called again after any error. */
export interface Positions {
  /** The positions of the streams that have a row. */
  next(scope: string, streams: readonly string[]): Promise<ReadonlyMap<string, StoredPosition>>
  /** The dead letter of a message that was set aside is confirmed: its offset is over. Changes nothing else. */
  pass(scope: string, position: StreamPosition): Promise<void>
  /**
   * From now on no claim grants anything of the stream, and no mark moves its position. The first reason is kept.
   * Changes nothing if the position is not `next`.
   */
  hold(scope: string, at: HeldAt, why: Reason): Promise<void>
  /** Ends a hold, because the log is proven to be the one that `next` was stored for. Changes nothing elsewhere. */
  prove(scope: string, at: HeldAt): Promise<void>
  /** For people: all streams of a scope, by name. */
  list(scope: string): Promise<readonly ListedPosition[]>
  /** For people: ends a hold, and logs for audit who ended it, when and why, with the previous row. */
  release(scope: string, stream: string, how: HoldRelease): Promise<HoldVerdict>
}

export interface HeldAt {
  readonly stream: string
  readonly next: bigint
}

export interface ListedPosition extends StoredPosition {
  readonly stream: string
  /** When the hold began. */
  readonly heldSince?: EpochMs | undefined
}

export interface HoldRelease extends Omit<Why, 'retentionMs'> {
  /** The offset at which the stream goes on. `undefined`: the stored position is right. */
  readonly from: bigint | undefined
}

/** `not-held`: the stream was not held, and nothing was changed. */
export type HoldVerdict = 'released' | 'not-held' | 'no-position'

export interface ClaimRequest {
  /**
   * For people and for the table of scopes: `group/consumer`, a distinct text for each scope. The keys contain the
   * scope already.
   */
  readonly scope: string
  readonly token: OwnerToken
  readonly leaseMs: DurationMs
  /** How long `done` is kept, counted from the mark. */
  readonly retentionMs: DurationMs
  /**
   * Grants messages that are in doubt or were tried before: the caller runs them apart from new ones. Inbox: the caller
   * keeps to the batch size that the counted attempts allow.
   */
  readonly alone: boolean
  /** Distinct keys. */
  readonly items: readonly ClaimItem[]
}

export interface ClaimItem {
  readonly key: Key
  readonly digest: Digest
  /** Strategy `offsets` only. The items of one stream come in its order. */
  readonly position?: StreamPosition | undefined
}

export type ClaimAnswer<Tx = never> = LeaseAnswer | TransactionAnswer<Tx>

export type LeaseAnswer = Granted<Claim> | Refused

export type TransactionAnswer<Tx> =
  | (Granted<TransactionClaim<Tx>> & {
      /**
       * An inbox has no fence to show it: a person has allowed this message to run, so it is not new, however old it
       * is.
       */
      readonly isKnown?: true
    })
  /**
   * The record counts `attempts` earlier ones, and this claim counted none. The message may have killed a process:
   * claim it again with `alone`, in a batch as small as its attempts require. Strategy `offsets`, with 0: it follows
   * such a message, which is not over.
   */
  | { readonly verdict: 'again-alone'; readonly attempts: number }
  /**
   * Strategy `offsets` only: a message before this one is not over according to the stored position, as after a restore
   * of the database. The stream must be read again from the stored position.
   */
  | { readonly verdict: 'behind' }
  | Refused

interface Granted<C extends Claim> {
  readonly verdict: 'claimed' | 'taken-over'
  readonly fence: number
  readonly attempt: number
  readonly claim: C
}

type Refused = Exclude<ClaimVerdict, { verdict: 'claimed' | 'taken-over' }>

/** A granted claim: the only value that can be marked, renewed, released or set aside. Only stores create it. */
export interface Claim {
  readonly key: Key
  readonly digest: Digest
  readonly scope: string
  readonly token: OwnerToken
  readonly fence: number
  readonly attempt: number
  readonly retentionMs: DurationMs
}

export interface TransactionClaim<Tx> extends Claim {
  /** The transaction of the effect, shared by the claims of one call. */
  readonly transaction: OpenTransaction<Tx>
}

export interface OpenTransaction<Tx> {
  /** A view of the transaction for one handler. */
  lend(): LentTransaction<Tx>
  /**
   * Whatever ends the transaction frees the keys of these claims and gives their attempts back, in the same step. A mark
   * commits nothing of them: their handler never began. Strategy `offsets`: of each stream the last claims, without a
   * gap. Sends nothing by itself.
   */
  giveBack(claims: readonly Claim[]): void
  /**
   * The COMMIT writes these messages into the outbox, in this order, behind those of earlier calls. Missing: the store has no
   * outbox. Sends nothing by itself.
   */
  publish?(messages: readonly Outgoing[]): void
  /**
   * A handler has changed something that the handlers after it would run with: a setting, a role, the database, a
   * temporary table. The transaction ends before the next one begins.
   * @defaultValue false
   */
  readonly isChanged?: boolean | undefined
  /**
   * How often in a row, this time included, the database ended a transaction of these claims through no fault of their
   * handlers: as a deadlock victim, or with its backend. The release then gives the attempts back. `undefined`: it did
   * not, or so often that the attempts count.
   */
  readonly lossesInARow?: number | undefined
}

export interface LentTransaction<Tx> {
  readonly tx: Tx
  /**
   * Later queries reject. Returns how many queries were still pending: if any, COMMIT is refused. May be called twice.
   */
  revoke(): number
}

export interface ReleaseOptions {
  /**
   * Give the attempt back: no handler began, or each message runs again alone in the same attempt, or the store failed
   * and not a handler.
   */
  readonly refund: boolean
  /** Lease only. The handler has ended, and it is unknown whether its effect happened. */
  readonly doubt: boolean
  /**
   * For this long, by the clock of the store, every claim of the key answers `busy`, in every process and for every
   * copy.
   * @defaultValue 0
   */
  readonly delayMs?: DurationMs | undefined
  /** Why the attempt failed, for people. Kept with the record. */
  readonly cause?: Cause | undefined
}

export interface SetAsideOptions {
  readonly reason: Reason
  /** As for `release`: give the attempt back, because its handler never began. @defaultValue false */
  readonly refund?: boolean | undefined
  readonly cause?: Cause | undefined
}
