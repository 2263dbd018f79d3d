import type { DurationMs, EpochMs } from './units.ts'

/**
 * 128 bits of the hash of length-prefixed (scope, message ID), base64url: 22 characters, the last four bits zero
 * (decision 0002).
 */
export type Key = string & { readonly __brand?: 'Key' }

/** 128 bits of the hash of the payload, base64url. The empty digest matches every other. Computed once, at identify. */
export type Digest = string & { readonly __brand?: 'Digest' }

/** Random, new for every claim call. It identifies the owner, including when a call is sent again. It has no order. */
export type OwnerToken = string & { readonly __brand?: 'OwnerToken' }

/** Why a record was set aside: a code and a short text, never a payload and never a raw ID. */
export type Reason = string

/**
 * Why the last attempt failed, for people: class and text, as in the dead letter (`Error: no such card`), at most 1 KB.
 * Parts that repeat the message are removed.
 */
export type Cause = string

/** The return value of a handler, or a remembered failure, as text (core/result.ts). Never empty. */
export type Result = string

/** The record that a store keeps under a key. Only `done` means that the effect happened. */
export type MessageRecord =
  | { readonly state: 'absent' }
  | {
      readonly state: 'processing'
      readonly digest: Digest
      readonly fence: number
      readonly attempt: number
      readonly doubt: boolean
      readonly owner: OwnerToken
      readonly leaseUntil: EpochMs
      readonly keepUntil: EpochMs
    }
  | {
      /** Like absent, but with fence and attempt: a late owner must still be refused, and the attempt stays counted. */
      readonly state: 'released'
      readonly digest: Digest
      readonly fence: number
      readonly attempt: number
      readonly doubt: boolean
      readonly owner: OwnerToken
      /**
       * End of the backoff. Until then nobody may claim it, whichever copy of the message arrives. `undefined`: no
       * backoff.
       */
      readonly notBefore?: EpochMs | undefined
      readonly cause?: Cause | undefined
      readonly keepUntil: EpochMs
    }
  | {
      readonly state: 'done'
      readonly digest: Digest
      readonly fence: number
      /** Kept to recognise a mark that is sent again. */
      readonly owner: OwnerToken
      /** When it was marked, or when a person decided that it is done. `undefined`: the store cannot tell. */
      readonly since?: EpochMs | undefined
      readonly result?: Result | undefined
      readonly keepUntil: EpochMs
    }
  | ({
      readonly state: 'given-up'
      readonly digest: Digest
      readonly fence: number
      readonly owner: OwnerToken
      readonly keepUntil: EpochMs
    } & AsideStory)
  | ({
      /** Waits for a person, for any length of time: it does not expire. */
      readonly state: 'parked'
      readonly digest: Digest
      readonly fence: number
      readonly owner: OwnerToken
    } & AsideStory)
  /** Cannot be read: it has another type, is truncated, or was written by a newer version. It is never changed. */
  | { readonly state: 'unreadable'; readonly found: string }

/** How a message was set aside. Every dead letter about it repeats these fields. */
export interface AsideStory {
  readonly reason: Reason
  /** Starts of its handler. `undefined` in these fields: written by a version that did not keep them. */
  readonly attempt?: number | undefined
  readonly since?: EpochMs | undefined
  readonly cause?: Cause | undefined
}

export type Command =
  | {
      readonly command: 'claim'
      readonly token: OwnerToken
      readonly digest: Digest
      readonly leaseMs: DurationMs
      readonly retentionMs: DurationMs
      /** The claim runs apart from others in its process. Without it, a message in doubt is not granted. */
      readonly alone: boolean
    }
  | { readonly command: 'renew'; readonly token: OwnerToken; readonly leaseMs: DurationMs }
  | {
      readonly command: 'mark'
      readonly token: OwnerToken
      readonly digest: Digest
      readonly fence: number
      readonly retentionMs: DurationMs
      readonly result?: Result | undefined
    }
  | {
      readonly command: 'release'
      readonly token: OwnerToken
      /** Gives the attempt back: its handler never started, or it runs again alone in the same attempt. */
      readonly refund: boolean
      /** The handler has ended, and it is unknown whether its effect happened. */
      readonly doubt: boolean
      /**
       * No claim is granted for this long.
       * @defaultValue 0
       */
      readonly delayMs?: DurationMs | undefined
      readonly cause?: Cause | undefined
    }
  | {
      readonly command: 'set-aside'
      readonly token: OwnerToken
      /** `given-up` says that no effect happened; on a record in doubt it is written as `parked`. */
      readonly as: 'given-up' | 'parked'
      readonly reason: Reason
      /**
       * As for `release`: the attempt of this claim does not count.
       * @defaultValue false
       */
      readonly refund?: boolean | undefined
      readonly cause?: Cause | undefined
    }
  | {
      /** A decision of a person. Only records without a living owner can be decided, so it takes no token. */
      readonly command: 'decide'
      readonly decision: Decision
      readonly retentionMs: DurationMs
    }

/**
 * - `done`: the effect happened. For records that are parked, in doubt or given up.
 * - `rerun`: the next delivery runs, with all its attempts and no doubt. For records that are parked, in doubt or given
 *   up.
 * - `reopen`: as `rerun`, only for records that are given up: no effect happened, so a run risks nothing.
 * - `forget`: as `rerun`, for records that are done: the effect will happen again.
 * - `import`: the effect happened before this library was used. Only for keys without a record.
 */
export type Decision = 'done' | 'rerun' | 'reopen' | 'forget' | 'import'

export type ClaimVerdict =
  | { readonly verdict: 'claimed' | 'taken-over'; readonly fence: number; readonly attempt: number }
  /** Another owner holds it, or its backoff is not over, which applies to every owner. */
  | { readonly verdict: 'busy'; readonly leaseLeftMs: DurationMs }
  | { readonly verdict: 'in-doubt' | 'conflict' }
  /** `since`: when it was marked, by the clock of the store. `undefined`: the store cannot tell. */
  | { readonly verdict: 'done'; readonly result?: Result | undefined; readonly since?: EpochMs | undefined }
  | ({ readonly verdict: 'given-up' | 'parked' } & AsideStory)
  /**
   * The store cannot read the record, and leaves it as it is. `found` says where it is and what was found, for people.
   */
  | { readonly verdict: 'unreadable'; readonly found: string }

export type RenewVerdict = 'renewed' | 'lost'

/**
 * `marked-late`: written over a record that was gone, released or set aside. Nobody owned it, and the effect did
 * happen.
 */
export type MarkVerdict = 'marked' | 'already-marked' | 'marked-late' | 'refused-busy' | 'refused-done'

export type ReleaseVerdict = 'released' | 'already-released' | 'refused'

export type SetAsideVerdict = 'given-up' | 'parked' | 'refused'

/** `already`: nothing to do, or the call was sent again. `refused`: not possible in this state. */
export type DecideVerdict = 'decided' | 'already' | 'refused'

const DECIDES: Readonly<Record<Decision, readonly RecordView['state'][]>> = {
  done: ['parked', 'given-up', 'in-doubt'],
  rerun: ['parked', 'given-up', 'in-doubt'],
  reopen: ['given-up'],
  forget: ['done'],
  import: ['absent'],
}

/** The verdict of a person's decision on a record. Also used for a preview before the decision. */
export function verdictOn(decision: Decision, { state, attempt, scope }: RecordView): DecideVerdict {
  if (scope === 'another') return 'refused'
  if (DECIDES[decision].includes(state)) return 'decided'
  const isOpen = state === 'absent' || (state === 'released' && attempt === 0)
  const makesDone = decision === 'done' || decision === 'import'
  return (makesDone ? state === 'done' : isOpen) ? 'already' : 'refused'
}

/** A record for people. `in-doubt`: processing with its lease over, or released in doubt. */
export interface RecordView {
  readonly state: MessageRecord['state'] | 'in-doubt'
  /**
   * Of stores whose scopes share their keys, as on Redis. `unknown`: the record does not say whose it is, because it is
   * done. `another`: absent here, and another scope has a record under this key,
   * which is not shown. `undefined`: it is of the scope that was asked for.
   */
  readonly scope?: 'unknown' | 'another' | undefined
  /** Digest of the payload. `undefined` or empty: not known. */
  readonly digest?: Digest | undefined
  readonly fence?: number | undefined
  /** Counted attempts. For records that are processing, in doubt, released or set aside. */
  readonly attempt?: number | undefined
  /** When it was set aside, or marked as done. `undefined`: the store cannot tell. */
  readonly since?: EpochMs | undefined
  /** When the backoff of a released message ends. */
  readonly notBefore?: EpochMs | undefined
  readonly leaseLeftMs?: DurationMs | undefined
  readonly reason?: Reason | undefined
  /** Why its last attempt failed. For records that are released, in doubt or set aside. */
  readonly cause?: Cause | undefined
  readonly result?: Result | undefined
  /**
   * For people: the W3C `traceparent` of the run that had the effect, if that was traced and sampled. Stores leave it
   * out: it is kept with the result.
   */
  readonly trace?: string | undefined
  /** When its retention ends. */
  readonly keepUntil?: EpochMs | undefined
  /** For an `unreadable` record: where it is, and what was found there. */
  readonly found?: string | undefined
}

export function viewOf(record: MessageRecord, now: EpochMs): RecordView {
  const kept = forgetExpired(record, now)
  switch (kept.state) {
    case 'absent':
      return { state: 'absent' }
    case 'processing': {
      const { digest, fence, attempt, keepUntil } = kept
      if (isInDoubt(kept, now)) return { state: 'in-doubt', digest, fence, attempt, keepUntil }
      return { state: 'processing', digest, fence, attempt, keepUntil, leaseLeftMs: kept.leaseUntil - now }
    }
    case 'released': {
      const { digest, fence, attempt, notBefore, cause, keepUntil } = kept
      const state = kept.doubt ? 'in-doubt' : 'released'
      const waits = notBefore !== undefined && notBefore > now
      return { state, digest, fence, attempt, notBefore: waits ? notBefore : undefined, cause, keepUntil }
    }
    case 'done': {
      const { digest, fence, since, result, keepUntil } = kept
      return { state: 'done', digest, fence, since, result, keepUntil }
    }
    case 'given-up':
      return {
        state: 'given-up',
        digest: kept.digest,
        fence: kept.fence,
        ...asideStoryOf(kept),
        keepUntil: kept.keepUntil,
      }
    case 'parked':
      return { state: 'parked', digest: kept.digest, fence: kept.fence, ...asideStoryOf(kept) }
    case 'unreadable':
      return { state: 'unreadable', found: kept.found }
  }
}

/** Retention is separate from the lease. It removes a record in any state except `parked`. */
export function forgetExpired(record: MessageRecord, now: EpochMs): MessageRecord {
  return 'keepUntil' in record && record.keepUntil <= now ? { state: 'absent' } : record
}

/** The effect may have happened, and nobody is working on it. */
function isInDoubt(record: MessageRecord, now: EpochMs): boolean {
  if (record.state === 'processing') return record.leaseUntil <= now
  return record.state === 'released' && record.doubt
}

/** The story without the other fields of the record. */
export function asideStoryOf({ reason, attempt, since, cause }: AsideStory): AsideStory {
  return { reason, attempt, since, cause }
}
