import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from '@jest/globals'
import * as fc from 'fast-check'
import type { Command, MessageRecord } from '../../../src/core/record.ts'
import { transition, type Transition } from '../../../src/core/transition.ts'

type Moved = Transition<Command['command']>

const ms = fc.integer({ min: 0, max: 40 })
const fence = fc.integer({ min: 1, max: 5 })
const token = fc.constantFrom('left', 'right')
const digest = fc.constantFrom('d', 'e', '')
const reason = fc.constantFrom('no', 'a|b')
const cause = fc.constantFrom(undefined, 'Error: no')
const story = { reason, attempt: fence, since: ms, cause }
const shared = { digest, fence, owner: token }
const counted = { ...shared, attempt: fence, doubt: fc.boolean(), keepUntil: ms }

const records: fc.Arbitrary<MessageRecord> = fc.oneof(
  fc.constant({ state: 'absent' as const }),
  fc.record({ ...counted, state: fc.constant('processing' as const), leaseUntil: ms }),
  fc.record({
    ...counted,
    state: fc.constant('released' as const),
    notBefore: fc.option(ms, { nil: undefined }),
    cause,
  }),
  fc.record({ ...shared, state: fc.constant('done' as const), keepUntil: ms }),
  fc.record({ ...shared, state: fc.constant('given-up' as const), keepUntil: ms, ...story }),
  fc.record({ ...shared, state: fc.constant('parked' as const), ...story }),
  fc.constant({ state: 'unreadable' as const, found: 'a list' }),
)

const times = { leaseMs: ms, retentionMs: ms }
const commands: fc.Arbitrary<Command> = fc.oneof(
  fc.record({ command: fc.constant('claim' as const), token, digest, ...times, alone: fc.boolean() }),
  fc.record({ command: fc.constant('renew' as const), token, leaseMs: ms }),
  fc.record({ command: fc.constant('mark' as const), token, digest, fence, retentionMs: ms }),
  fc.record({
    command: fc.constant('release' as const),
    token,
    refund: fc.boolean(),
    doubt: fc.boolean(),
    delayMs: ms,
    cause,
  }),
  fc.record({
    command: fc.constant('set-aside' as const),
    token,
    as: fc.constantFrom('given-up' as const, 'parked' as const),
    reason,
    refund: fc.boolean(),
    cause,
  }),
  fc.record({
    command: fc.constant('decide' as const),
    decision: fc.constantFrom('done' as const, 'rerun' as const, 'reopen' as const, 'forget' as const),
    retentionMs: ms,
  }),
)

const WRITES = ['claimed', 'taken-over', 'renewed', 'marked', 'marked-late', 'released', 'decided']
const SENT_AGAIN: Readonly<Record<string, string>> = {
  decided: 'already',
  marked: 'already-marked',
  'marked-late': 'already-marked',
  released: 'already-released',
}

interface Case {
  readonly record: MessageRecord
  readonly command: Command
  readonly now: number
  readonly moved: Moved
  /** What is left of the record at its time: nothing once its retention is over. */
  readonly kept: MessageRecord
}

const cases: fc.Arbitrary<Case> = fc.tuple(records, commands, ms).map(([record, command, now]) => {
  return { record, command, now, moved: move(record, command, now), kept: keptAt(record, now) }
})

function move(record: MessageRecord, command: Command, now: number): Moved {
  return transition<Command['command']>(record, command, now)
}

function keptAt(record: MessageRecord, now: number): MessageRecord {
  return 'keepUntil' in record && record.keepUntil <= now ? { state: 'absent' } : record
}

function differ(one: string, other: string): boolean {
  return one !== other && one !== '' && other !== ''
}

function wordOf({ verdict }: Moved): string {
  return typeof verdict === 'string' ? verdict : verdict.verdict
}

function hasWritten(moved: Moved): boolean {
  return WRITES.includes(wordOf(moved))
}

/** A claim that is sent again by its owner is no new one. */
function hasNewOwner({ kept, command, moved }: Case): boolean {
  const isResent = kept.state === 'processing' && 'token' in command && kept.owner === command.token
  return command.command === 'claim' && hasWritten(moved) && !isResent
}

function isSameAnswer(again: Moved, first: Moved): boolean {
  return wordOf(again) === (SENT_AGAIN[wordOf(first)] ?? wordOf(first))
}

/** Looks for a record and a command, of every state and kind, that break a law. */
function exceptionTo(law: (one: Case) => boolean): Case | undefined {
  return fc.check(fc.property(cases, law), { numRuns: 5_000 }).counterexample?.[0]
}

/** Each holds for all states and commands. */
const LAWS: Readonly<Record<string, (one: Case) => boolean>> = {
  'answers a command that is sent again like the first, and writes nothing more': ({
    command,
    now,
    moved,
  }: Case): boolean => {
    if (keptAt(moved.next, now) !== moved.next) return true
    const again = move(moved.next, command, now)
    const isGrant = typeof moved.verdict === 'object'
    return (
      isDeepStrictEqual(again.next, moved.next) &&
      isSameAnswer(again, moved) &&
      (!isGrant || isDeepStrictEqual(again.verdict, moved.verdict))
    )
  },

  'answers what was written, sent again later, like the first, but for its deadlines': ({
    command,
    now,
    moved,
  }: Case): boolean => {
    const later = now + 7
    if (!hasWritten(moved) || keptAt(moved.next, later) !== moved.next) return true
    const again = move(moved.next, command, later)
    return isDeepStrictEqual(withoutDeadlines(again.next), withoutDeadlines(moved.next)) && isSameAnswer(again, moved)
  },

  'writes nothing where it grants, marks, releases, sets aside or decides nothing': ({
    command,
    moved,
    kept,
  }: Case): boolean => hasWritten(moved) || command.command === 'set-aside' || isDeepStrictEqual(moved.next, kept),

  'lets only the owner move what is processed, but for a claim that is alone and finds the lease over': ({
    command,
    now,
    moved,
    kept,
  }: Case): boolean => {
    if (kept.state !== 'processing' || command.command === 'decide' || kept.owner === command.token) return true
    const mayTakeOver = command.command === 'claim' && command.alone && kept.leaseUntil <= now
    const takesOver = mayTakeOver && !differ(command.digest, kept.digest)
    return takesOver ? wordOf(moved) === 'taken-over' : isDeepStrictEqual(moved.next, kept)
  },

  'lets a person decide only what nobody holds': ({ command, now, moved, kept }: Case): boolean =>
    command.command !== 'decide' ||
    kept.state !== 'processing' ||
    kept.leaseUntil <= now ||
    isDeepStrictEqual(moved.next, kept),

  'ends doubt and attempts by a decision to run again': ({ command, now, moved }: Case): boolean => {
    if (command.command !== 'decide' || command.decision === 'done' || wordOf(moved) !== 'decided') return true
    const { next } = moved
    if (keptAt(next, now) !== next) return true
    const claim = { command: 'claim', token: 'third', digest: '', leaseMs: 5, retentionMs: 5, alone: false } as const
    return isDeepStrictEqual(move(next, claim, now).verdict, {
      verdict: 'claimed',
      fence: 'fence' in next ? next.fence + 1 : 0,
      attempt: 1,
    })
  },

  'raises the fence by one for each new owner, and never lowers it while the record lives': (one: Case): boolean => {
    const { moved, kept } = one
    if (!('fence' in kept)) return true
    return 'fence' in moved.next && moved.next.fence === kept.fence + (hasNewOwner(one) ? 1 : 0)
  },

  'counts an attempt for each new owner, and takes one back only where a release or a set-aside says so': (
    one: Case,
  ): boolean => {
    const { command, moved, kept } = one
    if (!('attempt' in kept) || !('attempt' in moved.next)) return true
    const [before = 0, after = 0] = [kept.attempt, moved.next.attempt]
    if (command.command === 'decide' && wordOf(moved) === 'decided') return after === 0
    const isEnded = moved.next !== kept && (command.command === 'release' || command.command === 'set-aside')
    const isRefunded = isEnded && command.refund === true
    return after - before === (hasNewOwner(one) ? 1 : isRefunded ? -1 : 0)
  },

  'keeps doubt until a mark, a parking or a person ends it': ({ command, moved: { next }, kept }: Case): boolean => {
    if (!('doubt' in kept) || !kept.doubt || command.command === 'decide') return true
    return 'doubt' in next ? next.doubt : next.state === 'done' || next.state === 'parked'
  },

  'says taken-over where it grants what is in doubt, and claimed where it is not': ({ moved }: Case): boolean =>
    moved.next.state !== 'processing' ||
    !['claimed', 'taken-over'].includes(wordOf(moved)) ||
    moved.next.doubt === (wordOf(moved) === 'taken-over'),

  'refuses a mark only where another owner is processing or has marked': ({ command, moved, kept }: Case): boolean => {
    if (command.command !== 'mark') return true
    const isAnothers = (kept.state === 'processing' || kept.state === 'done') && kept.owner !== command.token
    if (isAnothers || kept.state === 'unreadable') return wordOf(moved).startsWith('refused')
    return moved.next.state === 'done' && moved.next.owner === command.token
  },

  'ends what is parked by nothing but a mark or a person, now or ever': ({ record, command, now }: Case): boolean =>
    record.state !== 'parked' ||
    command.command === 'decide' ||
    [now, now + 1e12].every(
      (at) => move(record, command, at).next.state === (command.command === 'mark' ? 'done' : 'parked'),
    ),

  'grants what is released to nobody before its time': ({ kept, command, now, moved }: Case): boolean => {
    if (command.command !== 'claim' || kept.state !== 'released' || (kept.notBefore ?? 0) <= now) return true
    if (differ(kept.digest, command.digest)) return wordOf(moved) === 'conflict'
    return isDeepStrictEqual(moved, {
      next: kept,
      verdict: { verdict: 'busy', leaseLeftMs: (kept.notBefore ?? 0) - now },
    })
  },

  'lets a decision to run again end a backoff': ({ command, moved }: Case): boolean =>
    command.command !== 'decide' || wordOf(moved) !== 'decided' || !('notBefore' in moved.next),

  'leaves alone what cannot be read, and belongs to somebody else as far as anyone can tell': (one: Case): boolean => {
    const { kept, moved, command } = one
    if (kept.state !== 'unreadable') return true
    return moved.next === kept && (command.command === 'claim') === (wordOf(moved) === 'unreadable')
  },

  'tells whoever meets what was set aside what the first dead letter said': ({
    kept,
    command,
    moved,
  }: Case): boolean => {
    if (command.command !== 'claim' || !['given-up', 'parked'].includes(wordOf(moved))) return true
    if (kept.state !== 'given-up' && kept.state !== 'parked') return false
    const { reason: why, attempt, since, cause: of } = kept
    return isDeepStrictEqual(moved.verdict, { verdict: kept.state, reason: why, attempt, since, cause: of })
  },

  'never swallows a delivery without an effect': ({ kept, command, moved }: Case): boolean =>
    command.command !== 'claim' || wordOf(moved) !== 'done' || kept.state === 'done',
}

describe('transition, whatever the record and the command', () => {
  it('answers, and leaves a record of a known state', () => {
    const states = new Set<string>()
    const verdicts = new Set<string>()
    const knows = ({ moved }: Case): boolean => {
      states.add(moved.next.state)
      verdicts.add(wordOf(moved))
      return true
    }
    expect(exceptionTo(knows)).toBeUndefined()
    expect([...states].toSorted()).toEqual([
      'absent',
      'done',
      'given-up',
      'parked',
      'processing',
      'released',
      'unreadable',
    ])
    const ofClaims = [
      'claimed',
      'taken-over',
      'busy',
      'in-doubt',
      'done',
      'conflict',
      'given-up',
      'parked',
      'unreadable',
    ]
    const ofMarks = ['marked', 'already-marked', 'marked-late', 'refused-busy', 'refused-done']
    const ofOthers = ['renewed', 'lost', 'released', 'already-released', 'refused', 'decided', 'already']
    expect([...verdicts].toSorted()).toEqual([...ofClaims, ...ofMarks, ...ofOthers].toSorted())
  })

  it('changes no record that it was given', () => {
    const frozen = fc.tuple(records, commands, ms)
    expect(() =>
      fc.assert(
        fc.property(frozen, ([record, command, now]) => void move(Object.freeze(record), Object.freeze(command), now)),
      ),
    ).not.toThrow()
  })

  it.each(Object.entries(LAWS))('%s', (_name, law) => {
    expect(exceptionTo(law)).toBeUndefined()
  })
})

function withoutDeadlines(record: MessageRecord): object {
  return { ...record, leaseUntil: 0, keepUntil: 0 }
}
