import type { DeadLetterReason } from '../core/after-claim.ts'
import { isMarked } from '../core/after-run.ts'
import type { MarkVerdict, ReleaseVerdict, RenewVerdict, Result, SetAsideVerdict } from '../core/record.ts'
import { verdictOn, type SourceRecord } from '../core/sequence.ts'
import type { DurationMs } from '../core/units.ts'
import type { Checkup } from '../ports/checkup.ts'
import type { SequenceLedger } from '../ports/sequence-ledger.ts'
import type { StoreAdmin } from '../ports/store-admin.ts'
import type {
  Claim,
  ClaimRequest,
  IdleLimit,
  InboxStore,
  ReleaseOptions,
  SetAsideOptions,
  TransactionAnswer,
  TransactionClaim,
} from '../ports/store.ts'
import { sequenceAdmin } from './admin.ts'
import type { SequenceOptions } from './options.ts'
import { Sources, type DoneNumber } from './sources.ts'
import { numberedIn } from './store.ts'

/**
 * An inbox that keeps one record for each source of numbered messages, instead of one for each message that is done.
 * Effect and mark commit in one transaction, as a record of their own. After that the number is added to its source,
 * and only with that, in one atomic step, records that left the tail are removed. So each moment shows what is done in
 * at least one of the two. A claim asks `records` first: what it grants and the source knows as done was removed before.
 */
export function inboxSequencesOver<Tx>(
  records: InboxStore<Tx>,
  ledger: SequenceLedger,
  options: Required<SequenceOptions> & { readonly name: string },
): InboxStore<Tx> {
  return new InboxSequences(records, ledger, options)
}

type Granted<Tx> = Extract<TransactionAnswer<Tx>, { verdict: 'claimed' | 'taken-over' }>

/** Why a granted message must not run. */
type Refusal = 'done' | DeadLetterReason

/** Numbers whose process ended between the mark and its source, and that wait for the next mark. */
const MOST_LATE = 1_000

class InboxSequences<Tx> implements InboxStore<Tx> {
  readonly strategy = 'inbox'
  readonly keys = 'sequences'
  readonly name: string
  readonly admin?: StoreAdmin
  readonly checkup?: Checkup
  readonly idleLimit?: IdleLimit | undefined
  readonly onReachable?: (listener: () => void) => () => void
  readonly #records: InboxStore<Tx>
  readonly #sources: Sources
  readonly #onBehind: Required<SequenceOptions>['onBehind']
  /** Claims that a person lets run again: their source may say done for the run before. */
  readonly #known = new WeakSet<TransactionClaim<Tx>>()
  #late: (DoneNumber & { readonly scope: string })[] = []

  constructor(
    records: InboxStore<Tx>,
    ledger: SequenceLedger,
    options: Required<SequenceOptions> & { readonly name: string },
  ) {
    const { name, tail, maxGaps, onBehind } = options
    this.name = name
    this.#records = records
    this.idleLimit = records.idleLimit
    this.#sources = new Sources(ledger, { tail, maxGaps })
    this.#onBehind = onBehind
    if (records.admin !== undefined) this.admin = sequenceAdmin(records.admin, this.#sources)
    if (records.checkup !== undefined) this.checkup = async () => (await records.checkup?.()) ?? []
    if (records.onReachable !== undefined) this.onReachable = (told) => records.onReachable?.(told) ?? (() => {})
  }

  open(): Promise<void> {
    return this.#records.open()
  }

  async claim(request: ClaimRequest): Promise<readonly TransactionAnswer<Tx>[]> {
    const { scope, items, retentionMs } = request
    const places = items.map(({ key }) => numberedIn(key))
    const answers = await this.#records.claim(request)
    const granted = answers.filter(isGranted)
    for (const { claim, isKnown } of granted) if (isKnown === true) this.#known.add(claim)
    const [first] = granted
    try {
      const sources = await this.#sources.read(
        scope,
        places.flatMap(({ source }, at) => (needsItsSource(answers[at]) ? [source] : [])),
        first?.claim.transaction,
      )
      const refused = new Map<number, Refusal>()
      for (const [at, place] of places.entries()) {
        const answer = answers[at]
        if (!needsItsSource(answer)) continue
        const refusal = this.#refusalOf(sources.get(place.source), place.number)
        if (answer?.verdict !== 'done') {
          if (refusal !== undefined) refused.set(at, refusal) // mutant: sequence-unasked-by-inbox
        } else if (refusal === undefined && this.#late.length < MOST_LATE) {
          this.#late.push({ ...place, scope, keepMs: retentionMs })
        }
      }
      // No transaction waits for another connection of its pool.
      if (first === undefined) await this.#addAll([])
      return refused.size === 0 ? answers : await this.#without(request, answers, refused)
    } catch (error) {
      await this.#giveBack(granted.map(({ claim }) => claim))
      throw error
    }
  }

  renew(claims: readonly TransactionClaim<Tx>[], leaseMs: DurationMs): Promise<readonly RenewVerdict[]> {
    return this.#records.renew(claims, leaseMs)
  }

  async mark(
    claims: readonly TransactionClaim<Tx>[],
    results?: readonly (Result | undefined)[],
  ): Promise<readonly MarkVerdict[]> {
    const verdicts = await this.#records.mark(claims, results)
    const done = claims.filter((_, at) => isMarked(verdicts[at] ?? 'refused-busy'))
    await this.#addAll(done.map(numberOf))
    return done.length === claims.length ? verdicts : this.#knownAsDone(claims, verdicts)
  }

  release(claims: readonly TransactionClaim<Tx>[], how: ReleaseOptions): Promise<readonly ReleaseVerdict[]> {
    return this.#records.release(claims, how)
  }

  setAside(
    claims: readonly TransactionClaim<Tx>[],
    as: 'given-up' | 'parked',
    why: SetAsideOptions,
  ): Promise<readonly SetAsideVerdict[]> {
    return this.#records.setAside(claims, as, why)
  }

  #refusalOf(source: SourceRecord | undefined, number: bigint): Refusal | undefined {
    if (source === undefined) return 'record-unreadable'
    switch (verdictOn(source, number)) {
      case 'new':
        return undefined
      case 'done':
        return this.#onBehind === 'duplicate' ? 'done' : 'behind-sequence'
      case 'forgotten':
        return 'behind-sequence'
    }
  }

  /** Ends the transaction, with refused messages set aside or told as done, and claims the others again. */
  async #without(
    request: ClaimRequest,
    answers: readonly TransactionAnswer<Tx>[],
    refused: ReadonlyMap<number, Refusal>,
  ): Promise<readonly TransactionAnswer<Tx>[]> {
    const told = [...answers]
    const again: number[] = []
    const ended: TransactionClaim<Tx>[] = []
    const parked = new Map<DeadLetterReason, number[]>()
    for (const [at, answer] of answers.entries()) {
      if (!isGranted(answer)) continue
      const refusal = refused.get(at)
      if (refusal === undefined) again.push(at)
      if (refusal === undefined || refusal === 'done') ended.push(answer.claim)
      if (refusal === 'done') told[at] = { verdict: 'done' }
      else if (refusal !== undefined) parked.set(refusal, [...(parked.get(refusal) ?? []), at])
    }
    for (const [reason, places] of parked) {
      const claims = places.flatMap((at) => claimIn(answers[at]))
      const verdicts = await this.#records.setAside(claims, 'parked', { reason, refund: true })
      for (const [index, at] of places.entries()) {
        told[at] = verdicts[index] === 'parked' ? { verdict: 'parked', reason } : { verdict: 'busy', leaseLeftMs: 0 }
      }
    }
    await this.#giveBack(ended)
    if (again.length === 0) return told
    const items = again.flatMap((at) => request.items[at] ?? [])
    for (const [index, answer] of (await this.claim({ ...request, items })).entries()) {
      const at = again[index]
      if (at !== undefined) told[at] = answer
    }
    return told
  }

  async #giveBack(claims: readonly TransactionClaim<Tx>[]): Promise<void> {
    if (claims.length > 0) await this.#records.release(claims, { refund: true, doubt: false })
  }

  /** The answer of a COMMIT was lost, and meanwhile another process has removed the record of the message. */
  async #knownAsDone(
    claims: readonly TransactionClaim<Tx>[],
    verdicts: readonly MarkVerdict[],
  ): Promise<readonly MarkVerdict[]> {
    const [first] = claims
    if (first === undefined || !verdicts.includes('refused-busy')) return verdicts
    const places = claims.map(({ key }) => numberedIn(key))
    const sources = await this.#sources.read(
      first.scope,
      places.map(({ source }) => source),
    )
    return verdicts.map((verdict, at) => {
      const [place, claim] = [places[at], claims[at]]
      const source = place && sources.get(place.source)
      if (claim === undefined || this.#known.has(claim)) return verdict
      if (verdict !== 'refused-busy' || place === undefined || source === undefined) return verdict
      return verdictOn(source, place.number) === 'done' ? 'already-marked' : verdict
    })
  }

  async #addAll(marked: readonly (DoneNumber & { readonly scope: string })[]): Promise<void> {
    const late = this.#late
    this.#late = []
    const scopes = new Map<string, DoneNumber[]>()
    for (const { scope, ...done } of [...marked, ...late]) {
      const others = scopes.get(scope)
      if (others === undefined) scopes.set(scope, [done])
      else others.push(done)
    }
    await Promise.all([...scopes].map(([scope, done]) => this.#sources.add(scope, done)))
  }
}

function numberOf({ scope, key, retentionMs }: Claim): DoneNumber & { readonly scope: string } {
  return { ...numberedIn(key), scope, keepMs: retentionMs }
}

function claimIn<Tx>(answer: TransactionAnswer<Tx> | undefined): readonly TransactionClaim<Tx>[] {
  return answer !== undefined && isGranted(answer) ? [answer.claim] : []
}

function isGranted<Tx>(answer: TransactionAnswer<Tx>): answer is Granted<Tx> & TransactionAnswer<Tx> {
  return 'claim' in answer
}

/** A message that a person lets run again is granted as known: its number may be done. */
function needsItsSource(answer: TransactionAnswer<unknown> | undefined): boolean {
  if (answer === undefined) return false
  return answer.verdict === 'done' || (answer.verdict === 'claimed' && answer.isKnown !== true)
}
