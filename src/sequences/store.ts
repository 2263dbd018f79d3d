import type { DeadLetterReason } from '../core/after-claim.ts'
import { isMarked } from '../core/after-run.ts'
import type { Key, MarkVerdict, ReleaseVerdict, RenewVerdict, Result, SetAsideVerdict } from '../core/record.ts'
import { verdictOn, type SourceRecord } from '../core/sequence.ts'
import type { DurationMs } from '../core/units.ts'
import { StoreError } from '../foundation/errors.ts'
import type { Checkup } from '../ports/checkup.ts'
import type { SequenceLedger } from '../ports/sequence-ledger.ts'
import type { StoreAdmin } from '../ports/store-admin.ts'
import type { Claim, ClaimRequest, LeaseAnswer, LeaseStore, ReleaseOptions, SetAsideOptions } from '../ports/store.ts'
import { readSequenceKey, type Numbered } from '../identity/sequence-key.ts'
import { sequenceAdmin } from './admin.ts'
import type { SequenceOptions } from './options.ts'
import { Sources, type DoneNumber } from './sources.ts'

/**
 * A lease store that keeps one record for each source of numbered messages, instead of one for each message that is
 * done. `records` keeps those that are under way, failed, set aside, or done lately. What is done there is added to its
 * source, and only then removed, so each moment shows it in one of the two. A claim asks `records` first: what it
 * grants and the source knows as done was removed before.
 */
export function sequencesOver(
  records: LeaseStore,
  ledger: SequenceLedger,
  options: Required<SequenceOptions> & { readonly name: string },
): LeaseStore {
  return new SequenceStore(records, ledger, options)
}

/** Why a granted claim cannot be answered as it is. */
type Refusal = 'unreadable' | 'done' | 'forgotten'

/** The index of a claim in its batch, and something of it. */
type At<T> = readonly (readonly [number, T])[]

class SequenceStore implements LeaseStore {
  readonly strategy = 'lease'
  readonly keys = 'sequences'
  readonly name: string
  readonly admin?: StoreAdmin
  readonly checkup?: Checkup
  readonly onReachable?: (listener: () => void) => () => void
  readonly #records: LeaseStore
  readonly #sources: Sources
  readonly #onBehind: Required<SequenceOptions>['onBehind']

  constructor(
    records: LeaseStore,
    ledger: SequenceLedger,
    options: Required<SequenceOptions> & { readonly name: string },
  ) {
    const { name, tail, maxGaps, onBehind } = options
    this.name = name
    this.#records = records
    this.#sources = new Sources(ledger, { tail, maxGaps })
    this.#onBehind = onBehind
    if (records.admin !== undefined) this.admin = sequenceAdmin(records.admin, this.#sources)
    if (records.checkup !== undefined) this.checkup = async () => (await records.checkup?.()) ?? []
    if (records.onReachable !== undefined) this.onReachable = (told) => records.onReachable?.(told) ?? (() => {})
  }

  open(): Promise<void> {
    return this.#records.open()
  }

  async claim(request: ClaimRequest): Promise<readonly LeaseAnswer[]> {
    const { scope, items, retentionMs } = request
    const places = items.map(({ key }) => numberedIn(key))
    const answers = await this.#records.claim(request)
    const asked = places.filter((_, at) => needsItsSource(answers[at]))
    if (asked.length === 0) return answers
    const sources = await this.#sources.read(
      scope,
      asked.map(({ source }) => source),
    )
    const undone: DoneNumber[] = []
    const refused = new Map<number, Refusal>()
    for (const [at, place] of places.entries()) {
      const answer = answers[at]
      if (!needsItsSource(answer)) continue
      const verdict = verdictIn(sources.get(place.source), place.number)
      if (answer?.verdict !== 'done') {
        if (verdict !== 'new') refused.set(at, verdict) // mutant: sequence-unasked
      } else if (verdict === 'new') undone.push({ ...place, keepMs: retentionMs })
    }
    // A process ended between the mark and its source.
    await this.#sources.add(scope, undone)
    return refused.size === 0 ? answers : this.#refuse(answers, refused)
  }

  async mark(claims: readonly Claim[], results?: readonly (Result | undefined)[]): Promise<readonly MarkVerdict[]> {
    const verdicts = await this.#records.mark(claims, results)
    await this.#addAll(claims.filter((_, at) => isMarked(verdicts[at] ?? 'refused-busy')))
    return verdicts
  }

  renew(claims: readonly Claim[], leaseMs: DurationMs): Promise<readonly RenewVerdict[]> {
    return this.#records.renew(claims, leaseMs)
  }

  release(claims: readonly Claim[], how: ReleaseOptions): Promise<readonly ReleaseVerdict[]> {
    return this.#records.release(claims, how)
  }

  setAside(
    claims: readonly Claim[],
    as: 'given-up' | 'parked',
    why: SetAsideOptions,
  ): Promise<readonly SetAsideVerdict[]> {
    return this.#records.setAside(claims, as, why)
  }

  async #addAll(claims: readonly Claim[]): Promise<void> {
    const scopes = new Map<string, DoneNumber[]>()
    for (const { scope, key, retentionMs } of claims) {
      const done = { ...numberedIn(key), keepMs: retentionMs }
      const others = scopes.get(scope)
      if (others === undefined) scopes.set(scope, [done])
      else others.push(done)
    }
    await Promise.all([...scopes].map(([scope, done]) => this.#sources.add(scope, done)))
  }

  async #refuse(
    answers: readonly LeaseAnswer[],
    refused: ReadonlyMap<number, Refusal>,
  ): Promise<readonly LeaseAnswer[]> {
    const told = [...answers]
    const groups: Record<'park' | 'leave' | 'settle', [number, Claim][]> = { park: [], leave: [], settle: [] }
    for (const [at, refusal] of refused) {
      const answer = answers[at]
      if (answer !== undefined && 'claim' in answer) groups[this.#wayOf(refusal, answer)].push([at, answer.claim])
    }
    for (const [at, answer] of await this.#settle(groups.settle)) told[at] = answer
    for (const [at, answer] of await this.#park(groups.park, 'behind-sequence')) told[at] = answer
    for (const [at, answer] of await this.#park(groups.leave, 'record-unreadable')) told[at] = answer
    return told
  }

  #wayOf(refusal: Refusal, { verdict }: LeaseAnswer): 'park' | 'leave' | 'settle' {
    if (refusal === 'unreadable') return 'leave'
    // A person may have let the message run again, and that run has no known end: it is not a duplicate.
    return refusal === 'done' && this.#onBehind === 'duplicate' && verdict !== 'taken-over' ? 'settle' : 'park'
  }

  /** The record that the claim made becomes done, and is removed again. */
  async #settle(claims: At<Claim>): Promise<At<LeaseAnswer>> {
    if (claims.length === 0) return []
    const verdicts = await this.mark(claims.map(([, claim]) => claim))
    return claims.map(([at], index) => [at, isMarked(verdicts[index] ?? 'refused-busy') ? { verdict: 'done' } : BUSY])
  }

  async #park(claims: At<Claim>, reason: DeadLetterReason): Promise<At<LeaseAnswer>> {
    if (claims.length === 0) return []
    const verdicts = await this.#records.setAside(
      claims.map(([, claim]) => claim),
      'parked',
      { reason, refund: true },
    )
    return claims.map(([at], index) => [at, verdicts[index] === 'parked' ? { verdict: 'parked', reason } : BUSY])
  }
}

/** The lease ended meanwhile: the next claim shows who has the message. */
const BUSY: LeaseAnswer = { verdict: 'busy', leaseLeftMs: 0 }

/**
 * A grant with a higher fence had a record before: a person lets the message run, or its number was not done when it was
 * claimed first. After a take-over nobody knows which of the two.
 */
function needsItsSource(answer: LeaseAnswer | undefined): boolean {
  if (answer === undefined) return false
  return (
    answer.verdict === 'done' || answer.verdict === 'taken-over' || (answer.verdict === 'claimed' && answer.fence === 1)
  )
}

function verdictIn(source: SourceRecord | undefined, number: bigint): 'new' | Refusal {
  return source === undefined ? 'unreadable' : verdictOn(source, number)
}

export function numberedIn(key: Key): Numbered {
  const place = readSequenceKey(key)
  if (place !== undefined) return place
  throw new StoreError(
    'STORE_MISUSED',
    `expected the key of an ID of messageId.sourceSequence(), got '${key.slice(0, 40)}'`,
  )
}
