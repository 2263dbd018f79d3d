import { backoffMs } from '../../core/backoff.ts'
import { companyOf } from '../../core/company.ts'
import { afterHandler, type InDoubtPolicy } from '../../core/decision.ts'
import { describeError } from '../../foundation/errors.ts'
import type { Reconciled } from '../../consumer/options.ts'
import type { LeaseStore, ReleaseOptions } from '../../ports/store.ts'
import { causeOf } from '../telemetry/cause.ts'
import { claimsOf } from '../../execution/claims.ts'
import type { GivenBack, Granted } from '../store/claim-step.ts'
import type { ClaimedBatch } from '../store/store-client.ts'
import { DROPPED, RERUN, type SettingAside } from '../ending.ts'
import { failedAttempt } from '../handling/failed-attempt.ts'
import { HandlerRun, type RunEnd, type RunItem } from '../handling/handler-run.ts'
import { decodePayloads, type Undecoded } from '../handling/decode-payloads.ts'
import { Held, timeoutError } from '../../execution/deadlines.ts'
import { Marks } from '../store/marks.ts'
import { batchesOf, splitUp } from './batches.ts'
import { Runner, tasksOf } from './runner.ts'
import type { Services } from '../services.ts'
import type { Task } from '../task.ts'
import { TimedRun } from '../../execution/timed-run.ts'
import { keptWithTrace, tracedBy } from '../handling/traces.ts'
import { Unprotected } from './unprotected.ts'

interface Doubt {
  readonly policy: InDoubtPolicy
  readonly error?: unknown
  /**
   * 1: the doubt comes from the attempt before the claim's own, by an owner whose lease ended.
   * @defaultValue 0
   */
  readonly earlier?: 0 | 1
}

type HeldLease = Held<RunItem>

/**
 * Runs tasks under leases. Each turn of the event loop makes one claim call for ready tasks: as many as there are free
 * permits, but at most half of all, so that one half is handled while the other is at the store. It also makes one mark
 * call for all runs that ended in it. Messages that are claimed when the process dies are in doubt, and effects without
 * a mark become duplicates, so the permits bound both. A permit is free when its mark is durable. If the store keeps
 * the order of its calls, the next claim is sent right behind that mark, not after its answer: one round trip for both.
 */
export class LeaseRunner extends Runner {
  readonly #store: LeaseStore
  readonly #marks: Marks
  /** Set with `onStoreDown: 'run-unprotected'`. */
  readonly #unprotected: Unprotected | undefined
  readonly #onStuck = (lease: HeldLease, run: TimedRun): void => this.#abandon(lease, run)
  /** One function for all runs. */
  readonly #onEnd = (run: HandlerRun, end: RunEnd): void => this.#ended(run, end)
  /** Handlers that have not ended. */
  #running = 0

  constructor(services: Services, store: LeaseStore) {
    super(services)
    this.#store = store
    const unprotected = (this.#unprotected = this.#newUnprotected())
    this.#marks = new Marks(services, {
      onAnswered: (lease) => this.executor.deadlines.release(lease),
      end: (task, ending) => this.end(task, ending),
      onUnmarked: unprotected && ((task) => unprotected.tell(task, { result: 'handled' })),
    })
  }

  #newUnprotected(): Unprotected | undefined {
    if (this.services.consumer.onStoreDown !== 'run-unprotected') return undefined
    return new Unprotected(this.services, this.executor, (task, ending) => this.end(task, ending))
  }

  override async written(): Promise<void> {
    await this.#unprotected?.written()
  }

  protected get hasWork(): boolean {
    return this.#marks.areWaiting || this.services.lanes.hasReady
  }

  protected goOn(): void {
    this.#marks.flush()
    this.#claimReady()
  }

  override abandon(): void {
    super.abandon()
    this.#unprotected?.abandon()
  }

  #claimReady(): void {
    const { consumer, lanes, store, isDraining } = this.services
    // A store that keeps the order has marked them before it executes the claim.
    const almostFree = this.#store.inOrder === true ? this.#marks.tasksUnderWay : 0
    const free = consumer.concurrency - this.permits.held + almostFree
    const unprotected = store.isDown ? this.#unprotected : undefined
    if (free <= 0 || isDraining || !lanes.hasReady) return
    // Without the store nobody knows what may have killed a process, so nothing waits for that.
    if (unprotected === undefined && (store.isDown || !this.doubts.isGateOpen)) return
    // One half of the permits is at the store while the other half is handled.
    const most = consumer.handleBatch ? consumer.batchSize : Math.ceil(consumer.concurrency / 2)
    const tasks = this.stillOurs(lanes.take(Math.min(free, most)))
    if (unprotected !== undefined) this.#runUnprotected(unprotected, tasks)
    else if (tasks.length > 0) void this.#claim(tasks, false)
    if (lanes.hasReady) this.wake()
  }

  protected runApart(tasks: readonly Task[]): Promise<void> {
    return this.#claim(tasks, true)
  }

  protected isLastAttempt({ history }: Task): boolean {
    return history.attempts >= this.services.consumer.maxAttempts - 1
  }

  /** Resolves when each task has ended, is on its way to its end, or is being handled. */
  async #claim(tasks: readonly Task[], alone: boolean): Promise<void> {
    for (const task of tasks) this.permits.acquire(task)
    const earlier = this.#store.inOrder === true ? this.#marks.answered : undefined
    const unprotected = alone ? undefined : this.#unprotected
    let isUnprotected = false
    const onFailing = (): void => {
      isUnprotected = true
      if (unprotected !== undefined) this.#runUnprotected(unprotected, tasks)
    }
    const batch = await this.services.store.claim(tasks, alone, unprotected && onFailing)
    if (isUnprotected) return adopt(unprotected, tasks, batch)
    if (batch === undefined) return this.endAll(tasks, DROPPED)
    const { steps, sentAt } = batch
    const granted: Granted[] = []
    let skipped: Granted[] | undefined
    let givenBack: GivenBack[] | undefined
    let index = 0
    for (const task of tasks) {
      const step = steps[index++]
      switch (step?.next) {
        case undefined:
          break
        case 'handle':
        case 'reconcile':
          task.tried(step.claim.attempt - 1, false)
          granted.push(step)
          break
        case 'skip':
          ;(skipped ??= []).push(step)
          break
        case 'set-aside':
          if (step.doubt) this.#inDoubt([{ task, claim: step.claim }], { policy: 'park', earlier: 1 })
          void this.setAside({ task, claim: step.claim, others: step.others }, step.as, step.why)
          break
        case 'give-back':
          ;(givenBack ??= []).push(step)
          break
        case 'claim-alone':
        case 'end':
          this.#withoutClaim(task, step)
          break
      }
    }
    if (skipped !== undefined) void this.#marks.skip(skipped)
    if (givenBack !== undefined) void this.#giveBackKeys(givenBack)
    if (alone) await this.#giveBackCompany(granted)
    // Even if the store did not keep the order, no handler begins before the marks are durable whose permits it takes.
    const mustWait = earlier !== undefined && granted.length > 0
    this.#start(granted, mustWait ? await this.#renewedUntil(earlier, granted, sentAt) : sentAt) // mutant: claim-begins-before-marks
  }

  #withoutClaim(task: Task, step: GivenBack['afterwards']): void {
    if (step.next === 'end') return this.end(task, step.ending)
    this.permits.release(task)
    task.move('taken')
    this.doubts.add(task)
    this.permitFreed()
  }

  /** Releases some keys of messages that may not run, before these are claimed again or dead-lettered. */
  async #giveBackKeys(steps: readonly GivenBack[]): Promise<void> {
    const claims = steps.flatMap((step) => step.claims)
    await this.services.store.release(claims, { refund: true, doubt: false })
    for (const { task, afterwards } of steps) this.#withoutClaim(task, afterwards)
  }

  #runUnprotected(unprotected: Unprotected, tasks: readonly Task[]): void {
    for (const task of tasks) this.permits.acquire(task)
    const current = this.stillOurs(tasks)
    if (current.length > 0) unprotected.start(current)
  }

  /** A store that is down holds up no retry. What is in doubt waits for it, unless it is to run again anyway. */
  protected override async release(items: readonly RunItem[], how: ReleaseOptions): Promise<void> {
    const { consumer, store } = this.services
    if (this.#unprotected === undefined || (how.doubt && consumer.onInDoubt !== 'rerun')) {
      return super.release(items, how)
    }
    const claims = claimsOf(items)
    await new Promise<void>((resolve) => void store.release(claims, how, resolve).then(resolve))
  }

  /**
   * With `run-unprotected` a message that is to be given up runs again while its record cannot be written: the record is
   * written before the dead letter. A message that is to be parked waits.
   */
  protected override async setAside(
    item: Pick<RunItem, 'task' | 'claim' | 'others'>,
    as: 'given-up' | 'parked',
    why: SettingAside,
  ): Promise<void> {
    if (this.#unprotected === undefined || as === 'parked') return super.setAside(item, as, why)
    const { consumer, entropy, store } = this.services
    let goesOn = false
    const ending = await store.setAside(item, as, why, () => {
      goesOn = true
      const delayMs = backoffMs(item.claim.attempt, consumer.backoff, entropy.fraction())
      this.end(item.task, { end: 'rerun', delayMs })
    })
    if (!goesOn) this.end(item.task, ending)
  }

  /** The number of attempts is not known before the claim. */
  protected companyApart({ history }: Task): number {
    const { concurrency, maxAttempts } = this.services.consumer
    return companyOf(Math.max(1, history.attempts), { all: concurrency, maxAttempts })
  }

  /**
   * A task whose attempts, now known, allow only a smaller group is given back and claimed again. The others begin
   * after that: otherwise one of them could kill the process first and cost it this attempt.
   */
  async #giveBackCompany(granted: Granted[]): Promise<void> {
    granted.sort((a, b) => a.claim.attempt - b.claim.attempt)
    const tooMany = granted.findIndex(({ task }, at) => at + 1 > this.companyApart(task))
    if (tooMany > 0) await this.#giveBack(granted.splice(tooMany), true)
  }

  /** Renews the lease of granted tasks that wait to begin. Returns when it was granted or last renewed. */
  async #renewedUntil(over: Promise<unknown>, items: readonly RunItem[], sentAt: number): Promise<number> {
    const lease = this.executor.deadlines.keep(new Held(items, sentAt))
    await over
    this.executor.deadlines.release(lease)
    return lease.sentAt
  }

  #start(granted: readonly Granted[], sentAt: number): void {
    const together: RunItem[] = []
    for (const item of granted) {
      const isReconciled = item.next === 'reconcile'
      if (item.doubt) this.#inDoubt([item], { policy: isReconciled ? 'reconcile' : 'rerun', earlier: 1 })
      if (isReconciled) void this.#reconcile(item, sentAt)
      else if (this.services.consumer.handleBatch !== undefined) together.push(item)
      else this.#decode([item], sentAt)
    }
    for (const batch of batchesOf(together)) this.#decode(batch, sentAt)
  }

  /** Decodes the items of one run of the handler. */
  #decode(items: readonly RunItem[], sentAt: number): void {
    const decoded = decodePayloads(items, this.services.decoding)
    if (decoded instanceof Promise) void this.#decodeLater(items, decoded, sentAt)
    else this.#begin(items, decoded, sentAt)
  }

  async #decodeLater(
    items: readonly RunItem[],
    decoding: Promise<readonly Undecoded[]>,
    sentAt: number,
  ): Promise<void> {
    const renewedAt = await this.#renewedUntil(decoding, items, sentAt)
    this.#begin(items, await decoding, renewedAt)
  }

  #begin(items: readonly RunItem[], undecoded: readonly Undecoded[], sentAt: number): void {
    if (undecoded.length === 0) return this.#run(items, sentAt)
    const unreadable = new Set<RunItem>()
    for (const one of undecoded) {
      unreadable.add(one.item)
      if (one.next === 'again') continue
      const { item, next: _, ...why } = one
      void this.giveUp(item, 'given-up', { ...why, attempts: item.claim.attempt - 1 })
    }
    void this.#notDecoded(undecoded.filter(({ next }) => next === 'again'))
    const readable = items.filter((item) => !unreadable.has(item))
    if (readable.length > 0) this.#run(readable, sentAt)
  }

  /** Their handler never began, so the attempt does not count. */
  async #notDecoded(undecoded: readonly Undecoded[]): Promise<void> {
    if (undecoded.length === 0) return
    const items = undecoded.map(({ item }) => item)
    await this.release(items, { refund: true, doubt: false })
    for (const item of items) this.endUndecoded(item, undecoded)
  }

  #run(items: readonly RunItem[], sentAt: number): void {
    const { clock, isDraining } = this.services
    const now = clock.monotonic()
    // The last check before effects begin: the answer may have been slow, and a stop or a rebalance may have happened
    // meanwhile.
    const mayBegin = !isDraining && this.executor.deadlines.mayBegin(sentAt, now)
    const beginning = mayBegin ? currentOf(items) : []
    if (beginning.length < items.length) {
      const begins = new Set(beginning)
      void this.#giveBack(
        items.filter((item) => !begins.has(item)),
        true,
      )
    }
    if (beginning.length === 0) return

    this.#running++
    const run = new HandlerRun(new Held(beginning, sentAt, this.#onStuck))
    this.executor.begin(run, undefined, now, this.#onEnd)
  }

  /** Their handler never began, or reported that it did nothing. `refund`: the attempt does not count. */
  async #giveBack(items: readonly RunItem[], refund: boolean): Promise<void> {
    await this.release(items, { refund, doubt: false })
    for (const { task } of items) this.end(task, RERUN)
  }

  #ended(run: HandlerRun, how: RunEnd): void {
    const { held: lease } = run
    const end = this.executor.ended(run, how)
    lease.kept = keptWithTrace(end.kept, run.trace)
    if (lease.isOutlived) for (const { task } of run.items) this.#unprotected?.tell(task, end)
    this.#running--
    if (run.state === 'late') {
      if (end.result === 'handled') void this.#marks.markLate(lease)
    } else if (end.result === 'handled') {
      this.#marks.add(lease)
      // The last running handler need not wait: no other can end in this turn.
      if (this.#running === 0) this.goOn()
      else this.wake()
    } else void this.#endedWithoutEffect(run, end)
  }

  /** Also handles a run whose effect is unknown. */
  async #endedWithoutEffect(run: HandlerRun, { result, error }: RunEnd): Promise<void> {
    const { items, held: lease } = run
    const [first, ...others] = items
    if (first === undefined) return
    const { consumer, entropy, isDraining } = this.services
    // A failed batch says nothing about its single messages, so they run again in smaller ones, in the same attempt. If
    // another process will run them, or the run was interrupted, the attempt counts: otherwise such runs could go on for
    // ever.
    const isSplit = others.length > 0 && (result === 'failed' || result === 'fatal')
    if (isSplit) splitUp(tasksOf(items))
    if (isSplit || (result === 'failed' && run.isInterrupted)) {
      this.executor.deadlines.release(lease)
      const runsAgainHere = !isDraining && items.every(({ task: its }) => its.isCurrent)
      return this.#giveBack(items, isSplit && runsAgainHere)
    }
    const { task, claim, doubt } = first
    const step = afterHandler(result, { attempt: claim.attempt, doubt }, consumer)
    switch (step.next) {
      case 'mark':
        this.#marks.add(lease)
        return this.wake()
      case 'retry': {
        const { release, ending } = failedAttempt(this.services, first, error)
        await this.release(items, { refund: false, doubt: false, ...release })
        this.executor.deadlines.release(lease)
        return this.end(task, ending)
      }
      case 'rerun-in-doubt': {
        this.#inDoubt(items, { policy: consumer.onInDoubt, error })
        // With a delay, as after any other failure: a provider that did not answer in time gets time.
        const rerunInMs = backoffMs(claim.attempt, consumer.backoff, entropy.fraction())
        const delayMs = run.isInterrupted ? 0 : rerunInMs
        const cause = causeOf({ detail: describeError(error), error }, task.message)
        await this.release(items, { refund: false, doubt: true, delayMs, cause })
        this.executor.deadlines.release(lease)
        return this.endAll(tasksOf(items), { end: 'rerun', delayMs: rerunInMs })
      }
      case 'set-aside': {
        const { as, reason } = step
        if (reason === 'in-doubt') this.#inDoubt(items, { policy: 'park', error })
        const why = { reason, detail: describeError(error), error }
        await Promise.all(items.map((item) => this.giveUp(item, as, { ...why, attempts: item.claim.attempt })))
        return this.executor.deadlines.release(lease)
      }
    }
  }

  async #reconcile(item: RunItem, sentAt: number): Promise<void> {
    const { task, claim } = item
    const [lease, run] = this.#keep([item], sentAt)
    let answer: Reconciled | undefined
    let failure: { readonly error?: unknown } = {}
    try {
      answer = await this.services.consumer.reconcile?.(task.message, task.idempotencyKey)
    } catch (error) {
      failure = { error }
    }
    if (!this.executor.isInTime(run)) return
    if (answer === 'happened') return this.#marks.mark([lease])
    if (answer === 'did-not-happen') {
      this.executor.deadlines.release(lease)
      return this.#decode([item], lease.sentAt)
    }
    const detail = 'error' in failure ? `reconcile threw: ${describeError(failure.error)}` : 'reconcile could not tell'
    await this.setAside(item, 'parked', { reason: 'in-doubt', detail, ...failure, attempts: claim.attempt - 1 })
    this.executor.deadlines.release(lease)
  }

  /** A function of the user that is not a handler runs under a lease and the time limit of a handler. */
  #keep(items: readonly RunItem[], sentAt: number): readonly [HeldLease, TimedRun] {
    const run = new TimedRun().begin(this.services.clock.monotonic())
    return [this.executor.deadlines.keep(new Held(items, sentAt, this.#onStuck), run), run]
  }

  #abandon(lease: HeldLease, run: TimedRun): void {
    const { items } = lease
    this.executor.letGo(run, items)
    this.executor.deadlines.release(lease)
    const { onInDoubt, leaseMs, handlerTimeoutMs } = this.services.consumer
    if (onInDoubt !== 'park') return this.endAll(tasksOf(items), { end: 'rerun', delayMs: leaseMs })
    this.#inDoubt(items, { policy: 'park' })
    const detail = `${timeoutError(handlerTimeoutMs).message} and did not end when aborted`
    for (const item of items) {
      void this.giveUp(item, 'parked', { reason: 'in-doubt', detail, attempts: item.claim.attempt })
    }
  }

  #inDoubt(items: readonly Pick<RunItem, 'task' | 'claim'>[], { policy, error, earlier = 0 }: Doubt): void {
    for (const { task, claim } of items) {
      const { key, message } = task
      this.services.observe({
        type: 'in-doubt',
        key,
        message,
        attempt: claim.attempt - earlier,
        policy,
        error,
        ...tracedBy(task),
      })
    }
  }
}

/** The store has answered a claim whose tasks went on without it. */
function adopt(unprotected: Unprotected | undefined, tasks: readonly Task[], batch: ClaimedBatch | undefined): void {
  for (const [at, task] of tasks.entries()) {
    const step = batch?.steps[at]
    if (step !== undefined && 'claim' in step) unprotected?.granted(task, step.claim)
  }
}

function currentOf(items: readonly RunItem[]): readonly RunItem[] {
  return items.every(({ task }) => task.isCurrent) ? items : items.filter(({ task }) => task.isCurrent)
}
