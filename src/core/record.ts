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

type VerdictOf = {
  claim: ClaimVerdict
  renew: RenewVerdict
  mark: MarkVerdict
  release: ReleaseVerdict
  'set-aside': SetAsideVerdict
  decide: DecideVerdict
}

type CommandOf<C extends Command['command']> = Extract<Command, { command: C }>

export interface Transition<C extends Command['command']> {
  readonly next: MessageRecord
  readonly verdict: VerdictOf[C]
}

type Held = Extract<MessageRecord, { state: 'processing' }>

/**
 * The protocol of one key. Every store implements this function in its own language (Lua, SQL, a Map).
 *
 * ```
 *             claim                    mark
 *   absent ──────────▶ processing ──────────────▶ done
 *                       │  ▲   │
 *               release │  │   │ set aside
 *                       ▼  │   ▼
 *                    released  given-up | parked ──(late mark)──▶ done
 * ```
 *
 * Laws that hold in every state:
 * - Only the owner's token moves a `processing` record, except for a claim after its lease ended.
 * - A command that is sent again with the same token gets the same verdict, or one that says so (`already-…`), and
 *   changes nothing more.
 * - Doubt is sticky: a lease that ends without mark or release leaves the record in doubt, and only mark or set-aside
 *   removes the doubt.
 * - `busy`, `in-doubt`, `done`, `conflict`, `unreadable` and the verdicts of records that were set aside write nothing,
 *   so contention spends no attempt.
 * - A released record is granted to nobody before the end of its backoff, neither to the copy that failed nor to
 *   another.
 * - No command changes an unreadable record. Its owner is unknown, so it may be somebody else's.
 * - A mark is refused only if another owner is processing or the record is done: an effect that happened is never
 *   denied because the store forgot it, and a late owner never overwrites a new one.
 * - A person can only decide records without a living owner. Fences keep growing across a decision. Only `import`
 *   writes a record where there is none.
 */
export function transition<C extends Command['command']>(
  record: MessageRecord,
  command: CommandOf<C>,
  now: EpochMs,
): Transition<C>
export function transition(record: MessageRecord, command: Command, now: EpochMs): Transition<Command['command']> {
  const kept = forgetExpired(record, now)
  switch (command.command) {
    case 'claim':
      return claim(kept, command, now)
    case 'renew':
      return renew(kept, command, now)
    case 'mark':
      return mark(kept, command, now)
    case 'release':
      return release(kept, command, now)
    case 'set-aside':
      return setAside(kept, command, now)
    case 'decide':
      return decide(kept, command, now)
  }
}

/** Retention is separate from the lease. It removes a record in any state except `parked`. */
function forgetExpired(record: MessageRecord, now: EpochMs): MessageRecord {
  return 'keepUntil' in record && record.keepUntil <= now ? { state: 'absent' } : record
}

function claim(record: MessageRecord, command: CommandOf<'claim'>, now: EpochMs): Transition<'claim'> {
  if ('digest' in record && differ(record.digest, command.digest)) {
    return { next: record, verdict: { verdict: 'conflict' } }
  }
  switch (record.state) {
    case 'absent':
      return grant(command, now, { fence: 1, attempt: 1, doubt: false })
    case 'done':
      return { next: record, verdict: { verdict: 'done', result: record.result, since: record.since } }
    case 'given-up':
    case 'parked':
      return { next: record, verdict: { verdict: record.state, ...asideStoryOf(record) } }
    case 'unreadable':
      return { next: record, verdict: { verdict: 'unreadable', found: record.found } }
    case 'processing':
      // Sent again: the same grant with a new deadline. If the answer to a take-over was lost, it must be `taken-over`
      // again.
      if (record.owner === command.token) return grant(command, now, record) // mutant: lost-take-over
      if (record.leaseUntil > now) {
        return { next: record, verdict: { verdict: 'busy', leaseLeftMs: record.leaseUntil - now } } // mutant: attempt-burnt-by-busy
      }
      if (!command.alone) return { next: record, verdict: { verdict: 'in-doubt' } }
      return grant(command, now, { fence: record.fence + 1, attempt: record.attempt + 1, doubt: true })
    case 'released':
      // mutant: claim-in-backoff
      if (record.notBefore !== undefined && record.notBefore > now) {
        return { next: record, verdict: { verdict: 'busy', leaseLeftMs: record.notBefore - now } }
      }
      if (record.doubt && !command.alone) return { next: record, verdict: { verdict: 'in-doubt' } }
      return grant(command, now, { fence: record.fence + 1, attempt: record.attempt + 1, doubt: record.doubt }) // mutant: released-conflicts
  }
}

/** The empty digest (`onConflict: 'duplicate'`) matches every other, also one stored before the option was set. */
function differ(kept: Digest, claimed: Digest): boolean {
  return kept !== claimed && kept !== '' && claimed !== ''
}

function grant(
  command: CommandOf<'claim'>,
  now: EpochMs,
  { fence, attempt, doubt }: Pick<Held, 'fence' | 'attempt' | 'doubt'>,
): Transition<'claim'> {
  return {
    next: {
      state: 'processing',
      digest: command.digest,
      fence,
      attempt,
      doubt,
      owner: command.token,
      leaseUntil: now + command.leaseMs,
      keepUntil: now + command.retentionMs,
    },
    verdict: { verdict: doubt ? 'taken-over' : 'claimed', fence, attempt },
  }
}

function renew(record: MessageRecord, command: CommandOf<'renew'>, now: EpochMs): Transition<'renew'> {
  if (record.state !== 'processing' || record.owner !== command.token) return { next: record, verdict: 'lost' } // mutant: blind-renew
  return { next: { ...record, leaseUntil: now + command.leaseMs }, verdict: 'renewed' }
}

function mark(record: MessageRecord, command: CommandOf<'mark'>, now: EpochMs): Transition<'mark'> {
  if (record.state === 'unreadable') return { next: record, verdict: 'refused-busy' }
  const done: MessageRecord = {
    state: 'done',
    digest: command.digest,
    fence: record.state === 'absent' ? command.fence : record.fence,
    owner: command.token,
    since: now,
    result: command.result,
    keepUntil: now + command.retentionMs,
  }
  switch (record.state) {
    case 'done':
      return { next: record, verdict: record.owner === command.token ? 'already-marked' : 'refused-done' }
    case 'processing':
      // The deadline does not matter: a lease that has ended is not lost until somebody takes the message over.
      if (record.owner !== command.token) return { next: record, verdict: 'refused-busy' } // mutant: blind-mark
      return { next: done, verdict: 'marked' }
    case 'absent':
    case 'released':
    case 'given-up':
    case 'parked':
      return { next: done, verdict: 'marked-late' }
  }
}

function release(record: MessageRecord, command: CommandOf<'release'>, now: EpochMs): Transition<'release'> {
  if (record.state === 'released' && record.owner === command.token)
    return { next: record, verdict: 'already-released' }
  if (record.state !== 'processing' || record.owner !== command.token) return { next: record, verdict: 'refused' } // mutant: blind-release
  const { digest, fence, attempt, doubt, owner, keepUntil } = record
  return {
    next: {
      state: 'released',
      digest,
      fence,
      attempt: command.refund ? attempt - 1 : attempt,
      doubt: doubt || command.doubt, // mutant: doubt-forgotten
      owner,
      notBefore: command.delayMs === undefined || command.delayMs <= 0 ? undefined : now + command.delayMs,
      cause: command.cause,
      keepUntil,
    },
    verdict: 'released',
  }
}

function setAside(
  record: MessageRecord,
  { token, as, reason, refund, cause }: CommandOf<'set-aside'>,
  now: EpochMs,
): Transition<'set-aside'> {
  if ((record.state === 'given-up' || record.state === 'parked') && record.owner === token) {
    return { next: record, verdict: record.state }
  }
  if (record.state !== 'processing' || record.owner !== token) return { next: record, verdict: 'refused' } // mutant: blind-set-aside
  const { digest, fence, owner, doubt, keepUntil } = record
  const attempt = refund ? record.attempt - 1 : record.attempt
  const told = { digest, fence, owner, reason, attempt, since: now, cause }
  return as === 'given-up' && !doubt // mutant: doubt-given-up 2
    ? { next: { state: 'given-up', ...told, keepUntil }, verdict: 'given-up' }
    : { next: { state: 'parked', ...told }, verdict: 'parked' }
}

/** The story without the other fields of the record. */
function asideStoryOf({ reason, attempt, since, cause }: AsideStory): AsideStory {
  return { reason, attempt, since, cause }
}

/** The effect may have happened, and nobody is working on it. */
function isInDoubt(record: MessageRecord, now: EpochMs): boolean {
  if (record.state === 'processing') return record.leaseUntil <= now
  return record.state === 'released' && record.doubt
}

function decide(
  record: MessageRecord,
  { decision, retentionMs }: CommandOf<'decide'>,
  now: EpochMs,
): Transition<'decide'> {
  const verdict = verdictOn(decision, viewOf(record, now))
  if (verdict !== 'decided') return { next: record, verdict }
  const keepUntil = now + retentionMs
  // Its payload is unknown: the empty digest matches every other.
  if (decision === 'import')
    return { next: { state: 'done', digest: '', fence: 1, owner: '', since: now, keepUntil }, verdict }
  if (!('digest' in record)) return { next: record, verdict }
  const { digest, fence, owner } = record
  const next: MessageRecord =
    decision === 'done'
      ? { state: 'done', digest, fence, owner, since: now, result: undefined, keepUntil }
      : { state: 'released', digest, fence, attempt: 0, doubt: false, owner, keepUntil }
  return { next, verdict: 'decided' }
}

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
