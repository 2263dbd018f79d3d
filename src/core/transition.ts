import {
  asideStoryOf,
  forgetExpired,
  verdictOn,
  viewOf,
  type ClaimVerdict,
  type Command,
  type DecideVerdict,
  type Digest,
  type MarkVerdict,
  type MessageRecord,
  type ReleaseVerdict,
  type RenewVerdict,
  type SetAsideVerdict,
} from './record.ts'
import type { EpochMs } from './units.ts'

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
