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
import type { StreamPosition } from './source.ts'
import type { StoreAdmin, Why } from './store-admin.ts'

/**
 * Where records live. One instance may serve many consumers.
 *
 * Duties of every method, tested by one contract suite against `transition()`:
 * - It takes a batch and answers in its order; each key moves atomically, the batch need not.
 * - It may be sent again with the same token after any error, and then answers as if the first call had been the only one.
 * - It rejects with a `StoreError`, within a time of its own, when the answer is not known. It never guesses.
 * - A record that it cannot read concerns its own key alone: `claim` answers `unreadable`, nothing else moves it, and all other keys
 *   of the batch are answered as ever.
 *
 * Three strategies share the port. `lease`: a claim holds by time. `inbox`: a claim holds by an open transaction in which
 * the effect is written too, one transaction for all keys of one `claim()`; `mark` is its COMMIT. `offsets`: as `inbox`, but
 * what tells done from not done is the position of the item's stream, one number for each stream, in place of its key; digests
 * are not compared, and one item of a stream can be set aside at a time, the lowest that is not over.
 */
export interface Store<Tx = never> {
  readonly strategy: Strategy
  /**
   * Lease only: carries out its calls, and answers them, in the order they are made in, as over one connection. Claims then go out
   * right behind the marks that make room for them. After a fault it may be otherwise: nothing but speed relies on it.
   */
  readonly inOrder?: boolean
  /** Strategy `offsets` only. */
  readonly positions?: Positions
  /** The way out for people: what they may look at and decide. */
  readonly admin?: StoreAdmin
  /** Asks the server what its marks are worth. */
  readonly checkup?: Checkup
  /**
   * Calls `listener` whenever the store may be reachable again, such as when its client has connected anew: who waits to ask again
   * asks then. It may come too often, or not at all. The returned function ends it.
   */
  onReachable?(listener: () => void): () => void
  /** Idempotent. Checks the server and brings its schema up to date. */
  open(): Promise<void>
  claim(request: ClaimRequest): Promise<readonly ClaimAnswer<Tx>[]>
  /** Inbox: answers `renewed` while the connection lives. */
  renew(claims: readonly Claim<Tx>[], leaseMs: DurationMs): Promise<readonly RenewVerdict[]>
  /**
   * Durable when it resolves. Inbox: all claims of one transaction in one call. `results`: in the order of the claims, kept with
   * their marks; strategy `offsets` keeps none. Inbox: where one `isFailure`, its transaction has this one claim, what else was
   * written in it is rolled back, and the mark is written all the same.
   */
  mark(claims: readonly Claim<Tx>[], results?: readonly (Result | undefined)[]): Promise<readonly MarkVerdict[]>
  /** Inbox: rolls back the whole transaction of the claims. */
  release(claims: readonly Claim<Tx>[], how: ReleaseOptions): Promise<readonly ReleaseVerdict[]>
  /** `given-up` on a record in doubt is written, and answered, as `parked`. Whoever meets the record is told `why`, and since when. */
  setAside(
    claims: readonly Claim<Tx>[],
    as: 'given-up' | 'parked',
    why: SetAsideOptions,
  ): Promise<readonly SetAsideVerdict[]>
}

export type Strategy = 'lease' | 'inbox' | 'offsets'

/** Each method may be sent again after any error. */
export interface Positions {
  /** Of each of these streams that has a row. */
  next(scope: string, streams: readonly string[]): Promise<ReadonlyMap<string, StoredPosition>>
  /** The dead letter of what was set aside here is confirmed: it is over. Anything else stays as it is. */
  pass(scope: string, position: StreamPosition): Promise<void>
  /**
   * From here on no claim grants anything of the stream, and no mark moves it. The first reason stays. Changes nothing where
   * the stream is not at `next`.
   */
  hold(scope: string, at: HeldAt, why: Reason): Promise<void>
  /** Ends a hold because the log was proven to be the one that `next` was stored of. Changes nothing elsewhere. */
  prove(scope: string, at: HeldAt): Promise<void>
  /** For people: all streams of a scope, by name. */
  list(scope: string): Promise<readonly ListedPosition[]>
  /** For people: ends a hold, and writes down who did so, when and why, with the row as it was. */
  release(scope: string, stream: string, how: HoldRelease): Promise<HoldVerdict>
}

export interface HeldAt {
  readonly stream: string
  readonly next: bigint
}

export interface ListedPosition extends StoredPosition {
  readonly stream: string
  /** When `held` was written. */
  readonly heldSince?: EpochMs | undefined
}

export interface HoldRelease extends Omit<Why, 'retentionMs'> {
  /** Where the stream goes on. `undefined`: the position is right. */
  readonly from: bigint | undefined
}

/** `not-held`: nothing was changed, nothing had to be. */
export type HoldVerdict = 'released' | 'not-held' | 'no-position'

export interface ClaimRequest {
  /** For people and for the registry of tables: `group/consumer`, another text for each scope. It is in the keys already. */
  readonly scope: string
  readonly token: OwnerToken
  readonly leaseMs: DurationMs
  /** How long `done` is kept, counted from the mark. */
  readonly retentionMs: DurationMs
  /**
   * What is in doubt, or was tried before, may be claimed: the caller runs it apart from what is neither. Inbox: in the company that the
   * attempts allow which it was told of.
   */
  readonly alone: boolean
  /** Distinct keys. */
  readonly items: readonly ClaimItem[]
}

export interface ClaimItem {
  readonly key: Key
  readonly digest: Digest
  /** Strategy `offsets` only. Items of one stream come in its order. */
  readonly position?: StreamPosition | undefined
}

export type ClaimAnswer<Tx = never> =
  | {
      readonly verdict: 'claimed' | 'taken-over'
      readonly fence: number
      readonly attempt: number
      readonly claim: Claim<Tx>
      /** Inbox only, which has no fence to tell it by: a person has let the key run, so it is not new, however old its message. */
      readonly isKnown?: true
    }
  /**
   * Inbox only: `attempts` earlier ones are counted, and this claim counted none. It may be what killed a process: claim it again `alone`,
   * in the company that so many attempts allow. Strategy `offsets`, with 0: it follows such a message, which is not over.
   */
  | { readonly verdict: 'again-alone'; readonly attempts: number }
  /**
   * Strategy `offsets` only: what this item follows is not over by what is stored, as after a restore of the database. Its
   * stream must be read again, from the stored position.
   */
  | { readonly verdict: 'behind' }
  | Exclude<ClaimVerdict, { verdict: 'claimed' | 'taken-over' }>

/** What a claim gave: the only thing that can be marked, renewed, released or set aside. Made by stores alone. */
export interface Claim<Tx = never> {
  readonly key: Key
  readonly digest: Digest
  readonly scope: string
  readonly token: OwnerToken
  readonly fence: number
  readonly attempt: number
  readonly retentionMs: DurationMs
  /** Inbox: the transaction of the effect, shared by the claims of one call. */
  readonly transaction?: OpenTransaction<Tx>
}

export interface OpenTransaction<Tx> {
  /** A view of the transaction for one handler. */
  lend(): LentTransaction<Tx>
  /**
   * How often in a row, this one included, a transaction of these claims was lost by no fault of their handlers: chosen to lose
   * against another, or with its backend. Its release gives the attempts back. `undefined`: it was not, or so often that its attempts
   * count.
   */
  readonly lossesInARow?: number | undefined
}

export interface LentTransaction<Tx> {
  readonly tx: Tx
  /** Later queries reject. Returns how many were still pending: with any, COMMIT is refused. May be called twice. */
  revoke(): number
}

export interface ReleaseOptions {
  /** Give the attempt back: no handler began, each runs again alone in the same attempt, or not a handler but the store failed. */
  readonly refund: boolean
  /** The handler has ended and nobody knows whether its effect happened. Lease only. */
  readonly doubt: boolean
  /** For so long, by the clock of the store, a claim of it is `busy`, in whatever process and for whatever copy. @defaultValue 0 */
  readonly delayMs?: DurationMs | undefined
  /** Why the attempt failed, for people: kept with the record. */
  readonly cause?: Cause | undefined
}

export interface SetAsideOptions {
  readonly reason: Reason
  /** As for `release`: the attempt of this claim was none, since its handler never began. @defaultValue false */
  readonly refund?: boolean | undefined
  readonly cause?: Cause | undefined
}
