import { backoffMs, heldBackMs } from '../core/backoff.ts'
import { companyOf } from '../core/company.ts'
import { afterClaim, afterHandler, type InDoubtPolicy } from '../core/decision.ts'
import { LeaseLostError, describeError } from '../errors.ts'
import type { Reconciled } from '../options.ts'
import type { LeaseStore, ReleaseOptions } from '../ports/store.ts'
import { BEYOND_RETENTION, BeyondRetention } from './beyond-retention.ts'
import { causeOf } from './cause.ts'
import { DoubtQueue, type Apart } from './doubt-queue.ts'
import { Evidence } from './evidence.ts'
import { HandlerRun, type RunEnd, type RunItem } from './handler-run.ts'
import { decodePayloads, type Undecoded } from './identify.ts'
import { LeaseKeeper } from './lease-keeper.ts'
import { Marks } from './marks.ts'
import { remember, remembers } from './remember.ts'
import type { ClaimBatch, Desk, Runner } from './runner.ts'
import { Slots } from './slots.ts'
import { faultOfRelease } from './store-answers.ts'
import type { Task } from './task.ts'

interface Doubt {
  readonly policy: InDoubtPolicy
  readonly error?: unknown
  /**
   * 1: the doubt comes from the attempt before the claim's own, by an owner whose lease ended.
   * @defaultValue 0
   */
  readonly earlier?: 0 | 1
}

type Granted = RunItem & { readonly reconcile: boolean }
/** Granted, to be marked without a run. */
type Skipped = Pick<RunItem, 'task' | 'claim'>

/**
 * Runs tasks under leases. Each turn of the event loop makes one claim call for ready tasks: as many as there are free
 * handler slots, but at most half of all slots, so that one half is handled while the other is at the store. It also
 * makes one mark call for all runs that ended in it. Messages that are claimed when the process dies are in doubt, and
 * effects without a mark become duplicates, so the slots bound both. A slot is free when its mark is durable. If the
 * store keeps the order of its calls, the next claim is sent right behind that mark, not after its answer: one round
 * trip for both.
 */
export class LeaseRunner implements Runner {
  readonly #desk: Desk
  readonly #keeper: LeaseKeeper
  readonly #marks: Marks
  readonly #doubts: DoubtQueue
  readonly #beyond: BeyondRetention
  readonly #remembers: boolean
  readonly #store: LeaseStore
  readonly #stuck = new Set<HandlerRun>()
  readonly #slots = new Slots()
  /** One function for all runs. */
  readonly #onEnd = (run: HandlerRun, end: RunEnd): void => this.#ended(run, end)
  /** Handlers that have not ended. */
  #running = 0
  #isWoken = false

  constructor(desk: Desk, store: LeaseStore) {
    this.#desk = desk
    this.#store = store
    this.#beyond = new BeyondRetention(desk)
    this.#remembers = remembers(desk.consumer)
    this.#keeper = new LeaseKeeper(desk, (run) => this.#detach(run))
    this.#marks = new Marks(desk, (runs) => this.#leave(runs))
    this.#doubts = new DoubtQueue(desk, {
      slots: this.#slots,
      companyOf: (task) => this.#companyOf(task),
      isLast: ({ attempts }) => attempts >= desk.consumer.maxAttempts - 1,
      claim: (tasks) => this.#claim(tasks, true),
      onOpen: () => this.wake(),
    })
  }

  get stuck(): number {
    return this.#stuck.size
  }

  get apart(): Apart | undefined {
    return this.#doubts.apart
  }

  wake(): void {
    if (this.#isWoken || !this.#hasWork) return
    this.#isWoken = true
    this.#desk.clock.nextTurn(() => {
      this.#isWoken = false
      this.#goOn()
    })
  }

  /** Tasks that become ready later, and runs that end later, wake the runner themselves. */
  get #hasWork(): boolean {
    return this.#marks.areWaiting || this.#desk.lanes.hasReady
  }

  #goOn(): void {
    this.#marks.flush()
    this.#claimReady()
  }

  deliveriesLost(): void {
    const reason = new LeaseLostError('DELIVERY_LOST', 'its partition or channel is gone')
    for (const run of this.#keeper.runs) if (run.items.every(({ task }) => task.isLost)) run.abort(reason)
  }

  interrupt(reason: Error): void {
    for (const run of this.#keeper.runs) run.abort(reason)
  }

  drain(): void {
    this.#doubts.drain()
  }

  abandon(): void {
    for (const run of this.#keeper.runs) {
      if (!run.hasEnded) this.#letGo(run)
    }
    this.#keeper.close()
  }

  #claimReady(): void {
    const { consumer, lanes, line, isDraining } = this.#desk
    // A store that keeps the order has marked them before it executes the claim.
    const almostFree = this.#store.inOrder === true ? this.#marks.tasksUnderWay : 0
    const free = consumer.concurrency - this.#slots.taken + almostFree
    if (free <= 0 || isDraining || line.isDown || !this.#doubts.isGateOpen || !lanes.hasReady) return
    // One half of the slots is at the store while the other half is handled.
    const most = consumer.handleBatch ? consumer.batchSize : Math.ceil(consumer.concurrency / 2)
    const tasks = this.#stillOurs(lanes.take(Math.min(free, most)))
    if (tasks.length > 0) void this.#claim(tasks, false)
    if (lanes.hasReady) this.wake()
  }

  #stillOurs(tasks: readonly Task[]): Task[] {
    const ours: Task[] = []
    for (const task of tasks) {
      if (task.isCurrent) ours.push(task)
      else this.#desk.drop(task)
    }
    return ours
  }

  /** Resolves when each task has left its slot or is being handled. */
  async #claim(tasks: readonly Task[], alone: boolean): Promise<void> {
    for (const task of tasks) this.#slots.take(task)
    const earlier = this.#store.inOrder === true ? this.#marks.answered : undefined
    const batch = await this.#desk.claim(tasks, alone)
    if (batch === undefined) {
      this.#freeSlots(tasks)
      for (const task of tasks) this.#desk.drop(task)
      return
    }
    const granted: Granted[] = []
    let skipped: Skipped[] | undefined
    let index = 0
    for (const task of tasks) {
      const grant = this.#follow(task, batch, index++)
      if (grant === undefined) continue
      if ('payload' in grant) granted.push(grant)
      else (skipped ??= []).push(grant)
    }
    if (skipped !== undefined) void this.#marks.skip(skipped, 'beyond-retention')
    if (alone) await this.#giveBackCompany(granted)
    // Even if the store did not keep the order, no handler begins before the marks are durable whose slots it takes.
    const mustWait = earlier !== undefined && granted.length > 0
    this.#start(granted, mustWait ? await this.#renewedUntil(earlier, granted, batch.sentAt) : batch.sentAt) // mutant: claim-begins-before-marks
  }

  /** How many tasks in doubt may run together. The number of attempts is not known before the claim. */
  #companyOf({ attempts }: Task): number {
    const { concurrency, maxAttempts } = this.#desk.consumer
    return companyOf(Math.max(1, attempts), { all: concurrency, maxAttempts })
  }

  /**
   * A task whose attempts, now known, allow only a smaller group is given back and claimed again. The others begin
   * after that: otherwise one of them could kill the process first and cost it this attempt.
   */
  async #giveBackCompany(granted: Granted[]): Promise<void> {
    granted.sort((a, b) => a.task.attempts - b.task.attempts)
    const tooMany = granted.findIndex(({ task }, at) => at + 1 > this.#companyOf(task))
    if (tooMany > 0) await this.#giveBack(granted.splice(tooMany), true)
  }

  /** Renews the leases of granted tasks that wait to begin. Returns when they were granted or last renewed. */
  async #renewedUntil(over: Promise<unknown>, items: readonly RunItem[], sentAt: number): Promise<number> {
    const { leaseMs } = this.#desk.consumer
    const waiting = new HandlerRun(items, sentAt, sentAt + leaseMs)
    // No handler runs under it, so there is nothing to abort.
    waiting.hasEnded = true
    this.#keeper.keep(waiting)
    await over
    this.#keeper.release(waiting)
    return waiting.leaseUntil - leaseMs
  }

  /** Carries out the step for a verdict without a grant, and returns a grant. */
  #follow(task: Task, { answers, horizon }: ClaimBatch, index: number): Granted | Skipped | undefined {
    const answer = answers[index]
    if (answer === undefined) throw new TypeError('a store must answer each item of a claim (lease-runner.follow)')
    const isBeyond = this.#beyond.includes(task, answer, horizon)
    const step = afterClaim(answer, this.#desk.consumer, isBeyond)
    const doubt = answer.verdict === 'taken-over'
    switch (step.next) {
      case 'handle':
      case 'reconcile':
        if (!('claim' in answer)) return undefined
        task.attempts = answer.attempt - 1
        return { task, claim: answer.claim, payload: undefined, doubt, reconcile: step.next === 'reconcile' }
      case 'set-aside':
        if ('claim' in answer) {
          const { claim } = answer
          if (doubt) this.#inDoubt([{ task, claim }], { policy: 'park', earlier: 1 })
          const attempts = claim.attempt - 1
          const started = isBeyond ? BEYOND_RETENTION : `${attempts} attempts were started`
          const detail = doubt ? 'an earlier attempt ended without mark or release' : started
          void this.#desk.setAside(task, claim, step.as, { reason: step.reason, detail, attempts })
        }
        break
      case 'skip':
        this.#freeSlots([task])
        return 'claim' in answer ? { task, claim: answer.claim } : undefined
      case 'settle-duplicate':
        if (answer.verdict === 'done') this.#desk.duplicate(task, Evidence.ofDone(answer), answer)
        break
      case 'wait':
        this.#desk.awaitOwner(task, step.waitMs)
        break
      case 'claim-alone':
        this.#doubts.add(task)
        break
      case 'dead-letter':
        void this.#desk.deadLetterAgain(task, step)
        break
      case 'rewind':
        this.#desk.rewind(task)
        break
    }
    this.#freeSlots([task])
    return undefined
  }

  #start(granted: readonly Granted[], sentAt: number): void {
    const together: Granted[] = []
    for (const item of granted) {
      if (item.doubt) this.#inDoubt([item], { policy: item.reconcile ? 'reconcile' : 'rerun', earlier: 1 })
      if (item.reconcile) void this.#reconcile(item, sentAt)
      else if (this.#desk.consumer.handleBatch !== undefined && !item.task.alone) together.push(item)
      else this.#decode([item], sentAt)
    }
    if (together.length > 0) this.#decode(together, sentAt)
  }

  /** Decodes the items of one run of the handler. */
  #decode(items: readonly RunItem[], sentAt: number): void {
    const decoded = decodePayloads(items, this.#desk.consumer)
    if (decoded instanceof Promise) void this.#decodeLater(items, decoded, sentAt)
    else this.#begin(items, decoded, sentAt)
  }

  async #decodeLater(
    items: readonly RunItem[],
    decoding: Promise<readonly Undecoded[]>,
    sentAt: number,
  ): Promise<void> {
    const run = this.#keep(items, sentAt)
    const undecoded = await decoding
    if (this.#isTooLate(run)) return
    this.#keeper.release(run)
    this.#begin(items, undecoded, run.leaseUntil - this.#desk.consumer.leaseMs)
  }

  #begin(items: readonly RunItem[], undecoded: readonly Undecoded[], sentAt: number): void {
    if (undecoded.length === 0) return this.#run(items, sentAt)
    const unreadable = new Set<RunItem>()
    for (const { item, ...why } of undecoded) {
      unreadable.add(item)
      this.#freeSlots([item.task])
      void this.#desk.setAside(item.task, item.claim, 'given-up', { ...why, attempts: item.claim.attempt - 1 })
    }
    const readable = items.filter((item) => !unreadable.has(item))
    if (readable.length > 0) this.#run(readable, sentAt)
  }

  #run(items: readonly RunItem[], sentAt: number): void {
    const { consumer, clock, isDraining } = this.#desk
    const leaseUntil = sentAt + consumer.leaseMs
    const now = clock.monotonic()
    // The last check before effects begin: the answer may have been slow, and a stop or a rebalance may have happened
    // meanwhile.
    const mayBegin = !isDraining && this.#keeper.mayBegin(leaseUntil, now)
    const beginning = mayBegin ? currentOf(items) : []
    if (beginning.length < items.length) {
      const begins = new Set(beginning)
      void this.#giveBack(
        items.filter((item) => !begins.has(item)),
        true,
      )
    }
    if (beginning.length === 0) return

    const run = new HandlerRun(beginning, sentAt, leaseUntil)
    this.#keeper.keep(run)
    this.#running++
    run.start(consumer, undefined, now, this.#onEnd)
  }

  /** Their handler never began, or reported that it did nothing. `refund`: the attempt does not count. */
  async #giveBack(items: readonly RunItem[], refund: boolean): Promise<void> {
    await this.#release(items, { refund, doubt: false })
    const tasks = items.map(({ task }) => task)
    this.#freeSlots(tasks)
    this.#desk.putBack(tasks)
  }

  #ended(run: HandlerRun, how: RunEnd): void {
    const end = this.#remembers ? remember(run, how, this.#desk) : how
    run.kept = end.kept
    this.#running--
    if (run.isDetached) {
      this.#stuck.delete(run)
      if (end.result === 'handled') void this.#marks.markLate(run)
    } else if (end.result === 'handled') {
      this.#marks.add(run)
      // The last running handler need not wait: no other can end in this turn.
      if (this.#running === 0) this.#goOn()
      else this.wake()
    } else void this.#endedWithoutEffect(run, end)
  }

  /** Also handles a run whose effect is unknown. */
  async #endedWithoutEffect(run: HandlerRun, { result, error }: RunEnd): Promise<void> {
    const [first, ...others] = run.items
    if (first === undefined) return
    const { consumer, entropy, isDraining } = this.#desk
    // A failed batch says nothing about its single messages, so each runs again alone, in the same attempt. If another
    // process will run them, or the run was interrupted, the attempt counts: otherwise such runs could go on for ever.
    const isSplit = others.length > 0 && (result === 'failed' || result === 'fatal')
    if (isSplit) for (const { task } of run.items) task.alone = true
    if (isSplit || (result === 'failed' && run.isInterrupted)) {
      this.#keeper.release(run)
      const runsAgainHere = !isDraining && run.items.every(({ task: its }) => its.isCurrent)
      return this.#giveBack(run.items, isSplit && runsAgainHere)
    }
    const { task, claim, doubt } = first
    const step = afterHandler(result, { attempt: claim.attempt, doubt }, consumer)
    switch (step.next) {
      case 'mark':
        this.#marks.add(run)
        return this.wake()
      case 'retry': {
        const { attempt } = claim
        const elsewhereMs = this.#desk.retryDelayMs(attempt)
        const retryInMs = elsewhereMs ?? backoffMs(attempt, consumer.backoff, entropy.fraction())
        task.firstFailureAt ??= this.#desk.clock.now()
        this.#desk.observe({ type: 'attempt-failed', key: task.key, message: task.message, attempt, error, retryInMs })
        const delayMs = elsewhereMs === undefined ? retryInMs : heldBackMs(elsewhereMs)
        const cause = causeOf({ detail: describeError(error), error }, task.message)
        // Release before the copy is published: otherwise the copy could find the record `busy`.
        await this.#release(run.items, { refund: false, doubt: false, delayMs, cause })
        this.#leave([run])
        if (elsewhereMs === undefined) this.#desk.putBack([task], retryInMs)
        else void this.#desk.retryLater(task, { why: 'failed', attempts: attempt, delayMs: elsewhereMs, error })
        return
      }
      case 'rerun-in-doubt': {
        this.#inDoubt(run.items, { policy: consumer.onInDoubt, error })
        // With a delay, as after any other failure: a provider that did not answer in time gets time.
        const rerunInMs = backoffMs(claim.attempt, consumer.backoff, entropy.fraction())
        const delayMs = run.isInterrupted ? 0 : rerunInMs
        const cause = causeOf({ detail: describeError(error), error }, task.message)
        await this.#release(run.items, { refund: false, doubt: true, delayMs, cause })
        this.#leave([run])
        this.#desk.putBack(
          run.items.map((item) => item.task),
          rerunInMs,
        )
        return
      }
      case 'set-aside': {
        const { as, reason } = step
        if (reason === 'in-doubt') this.#inDoubt(run.items, { policy: 'park', error })
        const why = { reason, detail: describeError(error), error }
        const aside = run.items.map((item) =>
          this.#desk.setAside(item.task, item.claim, as, { ...why, attempts: item.claim.attempt }),
        )
        await Promise.all(aside)
        this.#leave([run])
      }
    }
  }

  async #reconcile(item: Granted, sentAt: number): Promise<void> {
    const { consumer } = this.#desk
    const { task, claim } = item
    const run = this.#keep([item], sentAt)
    let answer: Reconciled | undefined
    let failure: { readonly error?: unknown } = {}
    try {
      answer = await consumer.reconcile?.(task.message, task.idempotencyKey)
    } catch (error) {
      failure = { error }
    }
    if (this.#isTooLate(run)) return
    if (answer === 'happened') return this.#marks.mark([run])
    if (answer === 'did-not-happen') {
      this.#keeper.release(run)
      return this.#decode([item], run.leaseUntil - consumer.leaseMs)
    }
    const detail = 'error' in failure ? `reconcile threw: ${describeError(failure.error)}` : 'reconcile could not tell'
    await this.#desk.setAside(task, claim, 'parked', {
      reason: 'in-doubt',
      detail,
      ...failure,
      attempts: claim.attempt - 1,
    })
    this.#leave([run])
  }

  /** Runs a function of the user that is not a handler under a lease and the time limit of a handler. */
  #keep(items: readonly RunItem[], sentAt: number): HandlerRun {
    const { clock, consumer } = this.#desk
    const run = new HandlerRun(items, sentAt, sentAt + consumer.leaseMs)
    run.startedAt = clock.monotonic()
    this.#keeper.keep(run)
    return run
  }

  /** True if the run was detached: its tasks went on without it. */
  #isTooLate(run: HandlerRun): boolean {
    run.hasEnded = true
    this.#stuck.delete(run)
    return run.isDetached
  }

  /**
   * Nobody waits for this handler any more. Its task goes on without it, and `health()` says that a restart would help.
   */
  #detach(run: HandlerRun): void {
    this.#letGo(run)
    this.#leave([run])
    const { onInDoubt, leaseMs, handlerTimeoutMs } = this.#desk.consumer
    if (onInDoubt !== 'park') {
      return this.#desk.putBack(
        run.items.map(({ task }) => task),
        leaseMs,
      )
    }
    this.#inDoubt(run.items, { policy: 'park' })
    const detail = `the handler ran longer than ${handlerTimeoutMs} ms and did not end when aborted`
    for (const { task, claim } of run.items) {
      void this.#desk.setAside(task, claim, 'parked', { reason: 'in-doubt', detail, attempts: claim.attempt })
    }
  }

  #letGo(run: HandlerRun): void {
    run.isDetached = true
    this.#stuck.add(run)
    for (const { task, claim } of run.items) {
      this.#desk.observe({ type: 'stuck', key: task.key, message: task.message, attempt: claim.attempt })
    }
  }

  async #release(items: readonly RunItem[], how: ReleaseOptions): Promise<void> {
    const claims = items.map(({ claim }) => claim)
    const { line, consumer } = this.#desk
    await line.ask(claims.length, () => consumer.store.release(claims, how), faultOfRelease)
  }

  #inDoubt(items: readonly Pick<RunItem, 'task' | 'claim'>[], { policy, error, earlier = 0 }: Doubt): void {
    for (const { task, claim } of items) {
      const { key, message } = task
      this.#desk.observe({ type: 'in-doubt', key, message, attempt: claim.attempt - earlier, policy, error })
    }
  }

  #leave(runs: readonly HandlerRun[]): void {
    for (const run of runs) {
      this.#keeper.release(run)
      for (const { task } of run.items) this.#slots.free(task)
    }
    this.#slotsFreed()
  }

  #freeSlots(tasks: readonly Task[]): void {
    for (const task of tasks) this.#slots.free(task)
    this.#slotsFreed()
  }

  #slotsFreed(): void {
    this.#doubts.slotsFreed()
    this.wake()
  }
}

function currentOf(items: readonly RunItem[]): readonly RunItem[] {
  return items.every(({ task }) => task.isCurrent) ? items : items.filter(({ task }) => task.isCurrent)
}
