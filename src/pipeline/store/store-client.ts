import { isMarked } from '../../core/after-run.ts'
import type { MarkVerdict, ReleaseVerdict, RenewVerdict, Result } from '../../core/record.ts'
import { horizonOf } from '../../core/retention.ts'
import type { EpochMs, MonotonicMs } from '../../core/units.ts'
import { shortened } from '../../identity/digest.ts'
import { hasCode } from '../../foundation/errors.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Entropy } from '../../ports/entropy.ts'
import type { StreamPosition } from '../../ports/source.ts'
import type { Claim, ClaimAnswer, ClaimItem, Positions, ReleaseOptions } from '../../ports/store.ts'
import { causeOf } from '../telemetry/cause.ts'
import { CLAIM, MARK, watched } from '../telemetry/channels.ts'
import { claimsOf, forEachClaim, forEachItem, isRefused } from '../../execution/claims.ts'
import { ClaimSteps, type ClaimStep } from './claim-step.ts'
import { DROPPED, RERUN, type Ending, type SettingAside } from '../ending.ts'
import type { ResolvedConsumer } from '../../consumer/resolve-options.ts'
import { faultOfMark, faultOfRelease, faultOfSetAside, faultsOfClaims } from '../../execution/store-answers.ts'
import type { RunItem } from '../handling/handler-run.ts'
import type { Tell } from '../telemetry/observe.ts'
import type { OnCall, StoreLine } from '../../execution/store-line.ts'
import type { Task } from '../task.ts'

export interface ClaimedBatch {
  /** In the order of the tasks. */
  readonly steps: readonly ClaimStep[]
  /** When the request was sent. The lease counts from before that. */
  readonly sentAt: MonotonicMs
}

export interface StoreClientParts {
  readonly consumer: ResolvedConsumer
  readonly clock: Clock
  readonly entropy: Entropy
  readonly observe: Tell
  readonly isEachHeard: boolean
}

/**
 * The calls of a store, for one consumer. Each is repeated until the store answers; `undefined`: it did not before the
 * process had to stop, so the answer is unknown.
 */
export class StoreClient {
  readonly #services: StoreClientParts
  readonly #scope: string
  readonly #line: StoreLine
  readonly #steps: ClaimSteps
  readonly #positions: Positions | undefined
  readonly #onCall: OnCall

  constructor(services: StoreClientParts, scope: string, line: StoreLine, onCall: OnCall) {
    this.#onCall = onCall
    const { consumer, observe } = services
    this.#services = services
    this.#scope = scope
    this.#line = line
    this.#steps = new ClaimSteps(consumer, observe)
    this.#positions = consumer.store.strategy === 'offsets' ? consumer.store.positions : undefined
  }

  get isDown(): boolean {
    return this.#line.isDown
  }

  /** `onFailing`, here and below: see `StoreLine.ask`. */
  claim(tasks: readonly Task[], alone: boolean, onFailing?: () => void): Promise<ClaimedBatch | undefined> {
    return watched(
      CLAIM,
      () => this.#about(tasks),
      () => this.#claim(tasks, alone, onFailing),
    )
  }

  async #claim(
    tasks: readonly Task[],
    alone: boolean,
    onFailing: (() => void) | undefined,
  ): Promise<ClaimedBatch | undefined> {
    const { consumer, clock, entropy, observe, isEachHeard } = this.#services
    const { store, leaseMs, retentionMs } = consumer
    const request = {
      scope: this.#scope,
      token: entropy.ownerToken(),
      leaseMs,
      retentionMs,
      alone,
      items: itemsOf(tasks),
    }
    let sentAt = 0
    const ask = (): Promise<readonly ClaimAnswer<unknown>[]> => {
      sentAt = clock.monotonic()
      return store.claim(request) // mutant: mark-before-effect, settle-on-busy, swallow-given-up, done-from-error
    }
    const answers = await this.#line.ask(
      'claim',
      request.items.length,
      ask,
      faultsOfClaims(request, store.strategy),
      onFailing,
    )
    if (answers === undefined) return undefined
    // Positions are kept for ever.
    const horizon = this.#positions === undefined ? horizonOf(clock.now(), retentionMs) : Number.NEGATIVE_INFINITY
    const call = { from: sentAt, ms: clock.monotonic() - sentAt }
    for (const task of tasks) task.claimCall = call
    if (isEachHeard) {
      let granted = 0
      for (const answer of answers) if ('claim' in answer) granted++
      observe({ type: 'claims', count: answers.length, granted })
    }
    return { steps: this.#stepsAfter(tasks, answers, horizon), sentAt }
  }

  #stepsAfter(
    tasks: readonly Task[],
    answers: readonly ClaimAnswer<unknown>[],
    horizon: EpochMs,
  ): readonly ClaimStep[] {
    const steps: ClaimStep[] = []
    let at = 0
    for (const task of tasks) {
      const answer = answers[at++]
      if (answer === undefined) throw new TypeError('a store must answer each item of a claim (store-client.claim)')
      if (task.others.length > 0) {
        const all = answers.slice(at - 1, (at += task.others.length))
        if (all.every(({ verdict }) => verdict !== 'busy')) task.busySince = undefined
        steps.push(this.#steps.afterAll(task, all, horizon))
        continue
      }
      if (answer.verdict !== 'busy') task.busySince = undefined
      steps.push(this.#steps.after(task, answer, horizon))
    }
    return steps
  }

  /**
   * Claims messages whose handler has ended already, to mark them. In doubt or not, each may be granted: nothing will
   * run.
   */
  async claimLate(
    marks: readonly Pick<ClaimItem, 'key' | 'digest'>[],
  ): Promise<readonly ClaimAnswer<unknown>[] | undefined> {
    const { consumer, entropy } = this.#services
    const { store, leaseMs, retentionMs } = consumer
    const items = marks.map(({ key, digest }) => ({ key, digest }))
    const request = { scope: this.#scope, token: entropy.ownerToken(), leaseMs, retentionMs, alone: true, items }
    const ask = (): Promise<readonly ClaimAnswer<unknown>[]> => store.claim(request)
    return await this.#line.ask('claim', items.length, ask, faultsOfClaims(request, store.strategy))
  }

  async markLate(claims: readonly Claim[], results: Results): Promise<void> {
    const { store } = this.#services.consumer
    const kept = results?.some((one) => one !== undefined) === true ? results : undefined
    const verdicts = await this.#line.ask('mark', claims.length, () => store.mark(claims, kept), faultOfMark)
    if (verdicts !== undefined) this.observeMarks(verdicts)
  }

  /** Once: the answer is not worth waiting for, because the next renewal follows soon. */
  async renew(claims: readonly Claim[]): Promise<readonly RenewVerdict[]> {
    const { clock, consumer } = this.#services
    const { store, leaseMs } = consumer
    const sentAt = clock.monotonic()
    try {
      const verdicts = await store.renew(claims, leaseMs)
      this.#onCall('renew', claims.length, sentAt)
      return verdicts
    } catch (error) {
      this.#onCall('renew', claims.length, sentAt, error)
      // Unknown. Without an answer in time, the local deadline aborts the handlers.
      return []
    }
  }

  mark(
    items: readonly RunItem[],
    results?: Results,
    onFailing?: () => void,
  ): Promise<readonly MarkVerdict[] | undefined> {
    return watched(
      MARK,
      () => this.#about(items.map(taskOf)),
      () => this.#mark(items, results, onFailing),
    )
  }

  async #mark(
    items: readonly RunItem[],
    results: Results,
    onFailing: (() => void) | undefined,
  ): Promise<readonly MarkVerdict[] | undefined> {
    const { clock, consumer } = this.#services
    const { store } = consumer
    const claims = claimsOf(items)
    const kept = results && forEachClaim(items, results)
    const sentAt = clock.monotonic()
    const ask = (): Promise<readonly MarkVerdict[]> => store.mark(claims, kept) // mutant: release-after-unknown
    const verdicts = await this.#line.ask('mark', claims.length, ask, faultOfMark, onFailing) // mutant: settle-before-mark
    this.#marked(items, sentAt)
    return verdicts && forEachItem(items, verdicts, isRefused)
  }

  /** Marks the claims of a transaction. Resolves with an error if it is known that nothing was committed. */
  commit(items: readonly RunItem[], results?: Results): Promise<readonly MarkVerdict[] | undefined | Refusal> {
    return watched(
      MARK,
      () => this.#about(items.map(taskOf)),
      () => this.#commit(items, results),
    )
  }

  async #commit(items: readonly RunItem[], results?: Results): Promise<readonly MarkVerdict[] | undefined | Refusal> {
    const { clock, consumer } = this.#services
    const claims = claimsOf(items)
    const kept = results && forEachClaim(items, results)
    const sentAt = clock.monotonic()
    let refusal: Refusal | undefined
    const mark = async (): Promise<readonly MarkVerdict[]> => {
      try {
        return await consumer.store.mark(claims, kept)
      } catch (error) {
        if (!hasCode(error, 'FLOATING_QUERY') && !hasCode(error, 'COMMIT_REFUSED')) throw error // mutant: commit-unknown-as-failure
        // Asking again would not change the answer.
        refusal = { error }
        return claims.map(() => 'refused-busy')
      }
    }
    const verdicts = await this.#line.ask('mark', claims.length, mark, faultOfMark)
    this.#marked(items, sentAt)
    return refusal ?? (verdicts && forEachItem(items, verdicts, isRefused))
  }

  #about(tasks: readonly Task[]): object {
    const messages = tasks.map(({ message, key }) => ({ message, key }))
    return { consumer: this.#services.consumer.name, scope: this.#scope, messages }
  }

  #marked(items: readonly RunItem[], sentAt: MonotonicMs): void {
    const call = { from: sentAt, ms: this.#services.clock.monotonic() - sentAt }
    for (const { task } of items) task.markCall = call
  }

  observeMarks(verdicts: readonly MarkVerdict[]): void {
    if (!this.#services.isEachHeard) return
    let count = 0
    let late = 0
    for (const verdict of verdicts) {
      if (isMarked(verdict)) count++
      if (verdict === 'marked-late') late++
    }
    this.#services.observe({ type: 'marks', count, late })
  }

  async release(claims: readonly Claim[], how: ReleaseOptions, onFailing?: () => void): Promise<void> {
    const { consumer } = this.#services
    const ask = (): Promise<readonly ReleaseVerdict[]> => consumer.store.release(claims, how)
    await this.#line.ask('release', claims.length, ask, faultOfRelease, onFailing)
  }

  /** Resolves when the record is written. If the store refuses, the task is claimed again and follows that verdict. */
  async setAside(
    item: Pick<RunItem, 'task' | 'claim' | 'others'>,
    as: 'given-up' | 'parked',
    why: SettingAside,
    onFailing?: () => void,
  ): Promise<Ending> {
    const { consumer, clock } = this.#services
    const { task, claim } = item
    const claims = claimsOf([item])
    const setAsideAt = clock.now()
    const how = { reason: why.reason, refund: why.attempts < claim.attempt, cause: causeOf(why, task.message) }
    const verdicts = await this.#line.ask(
      'setAside',
      claims.length,
      () => consumer.store.setAside(claims, as, how),
      faultOfSetAside,
      onFailing,
    )
    if (verdicts === undefined) return DROPPED
    // What was written for other keys is found by the next claim.
    if (verdicts.includes('refused')) return RERUN
    return { end: 'set-aside', parked: verdicts.includes('parked'), setAsideAt, why }
  }

  /**
   * Strategy `offsets`: a dead-lettered message is over. If the store does not learn this, the message is only
   * dead-lettered once more.
   */
  async pass(position: StreamPosition | undefined): Promise<void> {
    const positions = this.#positions
    if (positions === undefined || position === undefined) return
    const pass = async (): Promise<readonly void[]> => [await positions.pass(this.#scope, position)]
    await this.#line.ask('pass', 1, pass, () => undefined)
  }
}

/** All keys of all tasks, task by task. */
function itemsOf(tasks: readonly Task[]): readonly ClaimItem[] {
  const items: ClaimItem[] = []
  for (const task of tasks) {
    const { digest } = task
    items.push({ key: task.key, digest, position: task.position })
    for (const { idempotencyKey, payloadHash } of task.others) {
      const own = payloadHash === task.payloadHash ? digest : shortened(payloadHash)
      items.push({ key: shortened(idempotencyKey), digest: own, position: undefined })
    }
  }
  return items
}

function taskOf({ task }: RunItem): Task {
  return task
}

type Results = readonly (Result | undefined)[] | undefined

interface Refusal {
  readonly error: unknown
}
