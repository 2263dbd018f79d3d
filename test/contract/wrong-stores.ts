import type { Command, Decision, Key, MarkVerdict, MessageRecord, RecordView, Result } from '../../src/core/record.ts'
import { isFailure, resultOf } from '../../src/core/result.ts'
import type { ListQuery, RecordPage } from '../../src/ports/store-admin.ts'
import type { Claim, LeaseAnswer, ClaimRequest } from '../../src/ports/store.ts'
import { MapStore, rightStep, type AnyTransition, type Step } from './map-store.ts'

/** Each looks right, and breaks one promise of the protocol. */
export const WRONG_STEPS: Readonly<Record<string, Step>> = {
  'marks blindly, whoever owns the record': ownedBySender('mark'),
  'releases without comparing tokens': ownedBySender('release'),
  'renews without comparing tokens': ownedBySender('renew'),
  'sets aside without comparing tokens': ownedBySender('set-aside'),
  'grants every claim as if it were sent again': ownedBySender('claim'),
  'forgets that a lease ran out': after('claim', ({ next, verdict }) =>
    next.state === 'processing' && isGrant(verdict)
      ? { next: { ...next, doubt: false }, verdict: { ...verdict, verdict: 'claimed' } }
      : { next, verdict },
  ),
  'forgets doubt at a release': after('release', ({ next, verdict }) => ({
    next: next.state === 'released' ? { ...next, doubt: false } : next,
    verdict,
  })),
  'claims what is in doubt in a batch': before('claim', (record, command) => [record, { ...command, alone: true }]),
  'takes over a lease that holds': onHeld('claim', (held, command, now) =>
    held.owner === command.token ? held : { ...held, leaseUntil: now },
  ),
  'ends the lease of a claim too soon': before('claim', (record, command) => [
    record,
    { ...command, leaseMs: command.leaseMs * 0.9 },
  ]),
  'ends the lease of a renewal too soon': before('renew', (record, command) => [
    record,
    { ...command, leaseMs: command.leaseMs * 0.9 },
  ]),
  'never lets a lease run out': onHeld('claim', (held, _, now) => ({ ...held, leaseUntil: now + 1 })),
  'deletes a record when its lease runs out': onHeld('claim', (held, _, now) =>
    held.leaseUntil > now ? held : { state: 'absent' },
  ),
  'deletes a record when it is released': after('release', ({ next, verdict }) => ({
    next: next.state === 'released' ? { state: 'absent' } : next,
    verdict,
  })),
  'counts a claim that is sent again': onHeld('claim', (held, { token }) =>
    held.owner === token ? { ...held, fence: held.fence + 1, attempt: held.attempt + 1 } : held,
  ),
  'answers claimed to a take-over that is sent again': onHeld('claim', (held, { token }) =>
    held.owner === token ? { ...held, doubt: false } : held,
  ),
  'answers busy to a claim that is sent again': onHeld('claim', (held) => ({ ...held, owner: 'another' })),
  'lets the lease of a claim that is sent again go on': (record, command, now) => {
    const moved = rightStep(record, command, now)
    const isResent = command.command === 'claim' && record.state === 'processing' && record.owner === command.token
    return isResent ? { ...moved, next: record } : moved
  },
  'spends an attempt on a claim that finds it busy': after('claim', ({ next, verdict }, record) => ({
    next: next === record && next.state === 'processing' ? { ...next, attempt: next.attempt + 1 } : next,
    verdict,
  })),
  'tells nobody the attempt': after('claim', ({ next, verdict }) => ({
    next,
    verdict: isGrant(verdict) ? { ...verdict, attempt: 0 } : verdict,
  })),
  'lets the fence stand still': after('claim', ({ next, verdict }) => ({
    next: next.state === 'processing' ? { ...next, fence: 1 } : next,
    verdict: isGrant(verdict) ? { ...verdict, fence: 1 } : verdict,
  })),
  'refunds an attempt each time it is told to': after('release', ({ next, verdict }, record, command) => ({
    next:
      next === record && next.state === 'released' && command.refund ? { ...next, attempt: next.attempt - 1 } : next,
    verdict,
  })),
  'never refunds': before('release', (record, command) => [record, { ...command, refund: false }]),
  'refuses the mark of a lease that ran out': onHeld('mark', (held, _, now) =>
    held.leaseUntil > now ? held : { ...held, owner: 'another' },
  ),
  'refuses a mark whose record is gone': refusesMarkOf('absent'),
  'refuses a mark after a release': refusesMarkOf('released'),
  'refuses a mark of what was given up': refusesMarkOf('given-up'),
  'refuses a mark of what was parked': refusesMarkOf('parked'),
  'marks what is marked already': before('mark', (record, command) => [
    record.state === 'done' ? { state: 'absent' } : record,
    command,
  ]),
  'keeps done for as long as the claim said': after('mark', ({ next, verdict }, record) => ({
    next: next.state === 'done' && 'keepUntil' in record ? { ...next, keepUntil: record.keepUntil } : next,
    verdict,
  })),
  'gives up what is in doubt': onHeld('set-aside', (held) => ({ ...held, doubt: false })),
  'lets what is released be claimed at once': after('release', ({ next, verdict }) => ({
    next: next.state === 'released' ? { ...next, notBefore: undefined } : next,
    verdict,
  })),
  'never lets what waits be claimed': after('release', ({ next, verdict }) => ({
    next: next.state === 'released' && next.notBefore !== undefined ? { ...next, notBefore: 1e15 } : next,
    verdict,
  })),
  'refuses a mark before its time': (record, command, now) =>
    command.command === 'mark' && record.state === 'released' && (record.notBefore ?? 0) > now
      ? { next: record, verdict: 'refused-busy' }
      : rightStep(record, command, now),
  'keeps a backoff over the decision of a person': after('decide', ({ next, verdict }, record) => ({
    next: next.state === 'released' && record.state === 'released' ? { ...next, notBefore: record.notBefore } : next,
    verdict,
  })),
  'forgets why an attempt failed': before('release', (record, command) => [record, { ...command, cause: undefined }]),
  'forgets why it was set aside': before('set-aside', (record, command) => [record, { ...command, cause: undefined }]),
  'forgets since when it was set aside': after('set-aside', ({ next, verdict }) => ({
    next: next.state === 'given-up' || next.state === 'parked' ? { ...next, since: undefined } : next,
    verdict,
  })),
  'forgets when it was marked': after('mark', ({ next, verdict }) => ({
    next: next.state === 'done' ? { ...next, since: undefined } : next,
    verdict,
  })),
  'forgets when a person has made it done': after('decide', ({ next, verdict }) => ({
    next: next.state === 'done' ? { ...next, since: undefined } : next,
    verdict,
  })),
  'counts starts that were none': before('set-aside', (record, command) => [record, { ...command, refund: false }]),
  'forgets half of the reason': before('set-aside', (record, command) => [
    record,
    { ...command, reason: command.reason.split('|')[0] ?? '' },
  ]),
  'refuses to set aside what it has set aside': (record, command, now) =>
    command.command === 'set-aside' && record.state !== 'processing'
      ? { next: record, verdict: 'refused' }
      : rightStep(record, command, now),
  'swallows what was given up': swallows('given-up'),
  'swallows what was parked': swallows('parked'),
  'parks for a while': (record, command, now) =>
    rightStep(record.state === 'parked' && now > 1_000_500 ? { state: 'absent' } : record, command, now),
  'renews what is over': (record, command, now) =>
    command.command === 'renew' && record.state !== 'processing'
      ? { next: record, verdict: 'renewed' }
      : rightStep(record, command, now),
  'compares no payloads': before('claim', (record, command) => [
    'digest' in record ? { ...record, digest: command.digest } : record,
    command,
  ]),
  'compares payloads of what is done alone': before('claim', (record, command) => [
    'digest' in record && record.state !== 'done' ? { ...record, digest: command.digest } : record,
    command,
  ]),
  'compares an empty digest': (record, command, now) =>
    command.command === 'claim' && 'digest' in record && record.digest !== command.digest
      ? { next: record, verdict: { verdict: 'conflict' } }
      : rightStep(record, command, now),
  'takes two empty digests for a conflict': (record, command, now) =>
    command.command === 'claim' && command.digest === '' && record.state === 'done'
      ? { next: record, verdict: { verdict: 'conflict' } }
      : rightStep(record, command, now),
  'keeps no results': before('mark', (record, command) => [record, { ...command, result: undefined }]),
  'keeps no failures': before('mark', (record, command) => [
    record,
    { ...command, result: command.result === undefined || isFailure(command.result) ? undefined : command.result },
  ]),
  'takes a result that is undefined for none': before('mark', (record, command) => [
    record,
    { ...command, result: command.result === resultOf(undefined) ? undefined : command.result },
  ]),
  'takes the result of a mark that is sent again': after('mark', ({ next, verdict }, _, { result }) => ({
    next: next.state === 'done' && verdict === 'already-marked' ? { ...next, result } : next,
    verdict,
  })),
  'decides over a living owner': onHeld('decide', (held, _, now) => ({ ...held, leaseUntil: now })),
  'decides nothing that is in doubt': onHeld('decide', (held, _, now) => ({ ...held, leaseUntil: now + 1 })),
  'decides again what is decided': after('decide', ({ next, verdict }) => ({
    next,
    verdict: verdict === 'already' ? 'decided' : verdict,
  })),
  'resolves nothing as done': (record, command, now) =>
    command.command === 'decide' && command.decision === 'done'
      ? { next: record, verdict: 'refused' }
      : rightStep(record, command, now),
  'reopens what is parked': decidesAs('reopen', 'rerun', 'parked'),
  'reopens what is done': decidesAs('reopen', 'forget', 'done'),
  'forgets what is parked': decidesAs('forget', 'rerun', 'parked'),
  'counts attempts on over a decision': after('decide', ({ next, verdict }) => ({
    next: next.state === 'released' ? { ...next, attempt: 1 } : next,
    verdict,
  })),
  'leaves doubt on what was decided': after('decide', ({ next, verdict }) => ({
    next: next.state === 'released' ? { ...next, doubt: true } : next,
    verdict,
  })),
  'deletes what is decided to run': after('decide', ({ next, verdict }) => ({
    next: next.state === 'released' ? { state: 'absent' } : next,
    verdict,
  })),
  'forgets nothing': (record, command, now) =>
    rightStep('keepUntil' in record ? { ...record, keepUntil: now + 1 } : record, command, now),
}

/** As `WRONG_STEPS`, about dates and about what only another hand leaves: random calls do not meet it. */
export const WRONG_RECORDS: Readonly<Record<string, Step>> = {
  'tells that it was set aside just now': (record, command, now) =>
    rightStep(record.state === 'parked' ? { ...record, since: Math.random() } : record, command, now),
  'tells that it was marked just now': (record, command, now) =>
    rightStep(record.state === 'done' ? { ...record, since: now } : record, command, now),
  'tells when it was marked in seconds': after('mark', ({ next, verdict }) => ({
    next: next.state === 'done' && next.since !== undefined ? { ...next, since: next.since / 1_000 } : next,
    verdict,
  })),
  'takes what it cannot read for absent': (record, command, now) =>
    rightStep(record.state === 'unreadable' ? { state: 'absent' } : record, command, now),
  'lets people decide of what it cannot read': (record, command, now) =>
    command.command === 'decide' && record.state === 'unreadable'
      ? { next: { state: 'absent' }, verdict: 'decided' }
      : rightStep(record, command, now),
}

/** Right about each key, and wrong about batches. */
export const WRONG_BATCHES: Readonly<Record<string, new () => MapStore>> = {
  'answers in an order of its own': class extends MapStore {
    override async claim(request: ClaimRequest): Promise<readonly LeaseAnswer[]> {
      return (await super.claim(request)).toReversed()
    }
  },
  'makes up answers to an empty batch': class extends MapStore {
    override async mark(claims: readonly Claim[]): Promise<readonly MarkVerdict[]> {
      return claims.length === 0 ? ['marked'] : super.mark(claims)
    }
  },
  'leaves out what it does not grant': class extends MapStore {
    override async claim(request: ClaimRequest): Promise<readonly LeaseAnswer[]> {
      return (await super.claim(request)).filter((answer) => 'claim' in answer)
    }
  },
  'says that it keeps the order of its calls, and claims before it marks': class extends MapStore {
    override readonly inOrder: boolean = true
    override async mark(claims: readonly Claim[]): Promise<readonly MarkVerdict[]> {
      await Promise.resolve()
      return super.mark(claims)
    }
  },
  'marks the first of a batch': class extends MapStore {
    override async mark(claims: readonly Claim[]): Promise<readonly MarkVerdict[]> {
      await super.mark(claims.slice(0, 1))
      return claims.map(() => 'marked')
    }
  },
  'keeps the first result for a whole batch': class extends MapStore {
    override async mark(claims: readonly Claim[], results: readonly Result[] = []): Promise<readonly MarkVerdict[]> {
      return super.mark(
        claims,
        claims.map(() => results[0]),
      )
    }
  },
  'shows records in an order of its own': class extends MapStore {
    override peek(keys: readonly Key[]): readonly RecordView[] {
      return super.peek(keys).toReversed()
    }
  },
  'lists the last of a page twice': class extends MapStore {
    override list(query: ListQuery, isOf: (key: Key) => boolean): RecordPage {
      const page = super.list(query, isOf)
      return { ...page, records: [...page.records, ...page.records.slice(-1)] }
    }
  },
  'looks at all records for one page': class extends MapStore {
    override list(query: ListQuery, isOf: (key: Key) => boolean): RecordPage {
      return super.list({ ...query, lookAtMost: undefined }, isOf)
    }
  },
  'ends a list where it stopped looking': class extends MapStore {
    override list(query: ListQuery, isOf: (key: Key) => boolean): RecordPage {
      const page = super.list(query, isOf)
      return page.records.length < query.limit ? { ...page, next: undefined } : page
    }
  },
  'lists what is in doubt as processing': class extends MapStore {
    override list(query: ListQuery, isOf: (key: Key) => boolean): RecordPage {
      const doubtful = super.list({ ...query, state: 'in-doubt' }, isOf)
      const page = super.list(query, isOf)
      return query.state === 'processing' ? { ...page, records: [...page.records, ...doubtful.records] } : page
    }
  },
  'forgets the case of a key': class extends MapStore {
    override move(key: string, command: Command): AnyTransition['verdict'] {
      return super.move(key.toLowerCase(), command)
    }
  },
}

type Held = Extract<MessageRecord, { state: 'processing' }>
type CommandOf<C extends Command['command']> = Extract<Command, { command: C }>

/** Hands the right step something else than what is there. */
function before<C extends Command['command']>(
  which: C,
  change: (record: MessageRecord, command: CommandOf<C>, now: number) => readonly [MessageRecord, CommandOf<C>],
): Step {
  return (record, command, now) =>
    isCommand(command, which) ? rightStep(...change(record, command, now), now) : rightStep(record, command, now)
}

function onHeld<C extends Command['command']>(
  which: C,
  change: (held: Held, command: CommandOf<C>, now: number) => MessageRecord,
): Step {
  return before(which, (record, command, now) => [
    record.state === 'processing' ? change(record, command, now) : record,
    command,
  ])
}

/** Spoils what the right step made of it. */
function after<C extends Command['command']>(
  which: C,
  change: (moved: AnyTransition, record: MessageRecord, command: CommandOf<C>) => AnyTransition,
): Step {
  return (record, command, now) => {
    const moved = rightStep(record, command, now)
    return isCommand(command, which) ? change(moved, record, command) : moved
  }
}

function ownedBySender(which: Exclude<Command['command'], 'decide'>): Step {
  return before(which, (record, command) => ['owner' in record ? { ...record, owner: command.token } : record, command])
}

function refusesMarkOf(state: MessageRecord['state']): Step {
  return (record, command, now) =>
    command.command === 'mark' && record.state === state
      ? { next: record, verdict: 'refused-busy' }
      : rightStep(record, command, now)
}

/** Takes a decision about records in that state for another one. */
function decidesAs(decision: Decision, other: Decision, state: MessageRecord['state']): Step {
  return before('decide', (record, command) => [
    record,
    record.state === state && command.decision === decision ? { ...command, decision: other } : command,
  ])
}

function swallows(state: MessageRecord['state']): Step {
  return (record, command, now) =>
    command.command === 'claim' && record.state === state
      ? { next: record, verdict: { verdict: 'done' } }
      : rightStep(record, command, now)
}

function isCommand<C extends Command['command']>(command: Command, which: C): command is CommandOf<C> {
  return command.command === which
}

function isGrant(verdict: AnyTransition['verdict']): verdict is Extract<AnyTransition['verdict'], { fence: number }> {
  return typeof verdict === 'object' && 'fence' in verdict
}
