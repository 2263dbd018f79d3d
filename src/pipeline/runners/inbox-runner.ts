import { companyOf } from '../../core/company.ts'
import { FIRST_PACE, isOpenLongEnough, paced, shareOf, type Lap, type Pace } from '../../core/pace.ts'
import { afterHandler } from '../../core/decision.ts'
import type { Result } from '../../core/record.ts'
import type { MonotonicMs } from '../../core/units.ts'
import { TransactionError, describeError } from '../../foundation/errors.ts'
import type { ReleaseOptions } from '../../ports/store.ts'
import { claimsOf } from '../../execution/claims.ts'
import { Held, timeoutError, WITHOUT_LEASE, type OnStuck } from '../../execution/deadlines.ts'
import type { TimedRun } from '../../execution/timed-run.ts'
import type { GivenBack } from '../store/claim-step.ts'
import { endOfSkip } from '../store/marks.ts'
import { DROPPED, RERUN } from '../ending.ts'
import { Evidence } from '../evidence.ts'
import { failedAttempt } from '../handling/failed-attempt.ts'
import { HandlerRun, type RunEnd, type RunItem } from '../handling/handler-run.ts'
import { decodePayloads, type Undecoded } from '../handling/decode-payloads.ts'
import { splitUp } from './batches.ts'
import { followClaim } from './follow-claim.ts'
import { Runner, tasksOf } from './runner.ts'
import {
  culpritOf,
  openedBy,
  isChanged,
  transactionOf,
  withResultsOf,
  type Claimed,
  type HeldItems,
  type TransactionEnd,
} from './shared-transaction.ts'
import type { Task } from '../task.ts'
import { keptWithTrace } from '../handling/traces.ts'

/** How a transaction is taken: beside nothing, or of messages that were handled beside one that failed. */
interface How {
  readonly isQuiet?: boolean
  readonly isProven?: boolean
}

const REFUND: ReleaseOptions = { refund: true, doubt: false }
const NO_REFUND: ReleaseOptions = { refund: false, doubt: false }

/**
 * Runs tasks in transactions: claim, effects and mark commit together or not at all. Messages that wait spread over idle
 * transactions first. Where more wait, a batch shares one transaction without savepoints, and its handlers run one after
 * the other, as many as are quick enough (`Pace`). What one message does decides about that message:
 *
 * - A stop, or a transaction that has been open for long enough, ends the batch at its next handler. What was handled
 *   commits, and what never began is given back with its attempt in the same COMMIT.
 * - When a handler fails, everything is rolled back. It runs again alone, in the same attempt, and those before it run
 *   again without it. If nobody knows which message fails the batch, it runs again in smaller ones.
 *
 * Several transactions run in parallel. A message with an attempt whose end nobody saw may have killed a process. It runs
 * in a smaller batch, with other such messages, smaller with each attempt, and its last attempt runs beside nothing. So
 * the message that kills the process is found, and no other is given up because of it (model/promela/suspects.pml).
 */
export class InboxRunner extends Runner {
  #pace: Pace = FIRST_PACE
  /** The runs under way, with what ends the wait for each. */
  readonly #running = new Map<TimedRun, () => void>()
  /** Batches that were handled beside a message that failed: the next transactions take them without it. */
  readonly #proven: (readonly Task[])[] = []
  readonly #onStuck: OnStuck<RunItem> = (_, run) => this.#running.get(run)?.()
  #open = 0
  #isOver = false

  override abandon(): void {
    this.#isOver = true
    for (const waitNoMore of this.#running.values()) waitNoMore()
    super.abandon()
  }

  override deliveriesLost(): void {
    // A running transaction goes on: effect and mark commit together, and the redelivery waits for it or joins it.
  }

  override interrupt(reason: Error): void {
    // Handlers that wait for their turn in a transaction must not begin either.
    this.#isOver = true
    super.interrupt(reason)
  }

  override drain(): void {
    super.drain()
    for (const task of this.#proven.splice(0).flat()) this.services.end(task, DROPPED)
  }

  protected get hasWork(): boolean {
    return this.services.lanes.hasReady || this.#proven.length > 0
  }

  protected goOn(): void {
    const { consumer, lanes, store, isDraining, isPaused } = this.services
    if (isDraining || isPaused) return
    while (this.#open < consumer.transactions && !store.isDown && this.doubts.isGateOpen) {
      const most = this.#most
      const share = consumer.handleBatch === undefined ? shareOf(lanes.ready, consumer.transactions - this.#open) : most
      const proven = this.#proven.shift()
      const taken = proven ?? lanes.takeBatch((task) => Math.min(most, this.#companyOf(task)), share)
      if (taken.length === 0) return
      const tasks = this.stillOurs(taken)
      const [first] = tasks
      if (first === undefined) continue
      if (this.#needsQuiet(first)) this.doubts.add(first)
      else void this.#transact(tasks, { isProven: proven !== undefined })
    }
  }

  /** Only last attempts run apart, each beside nothing. */
  protected companyApart(): number {
    return 1
  }

  protected isLastAttempt(): boolean {
    return true
  }

  protected runApart(tasks: readonly Task[]): Promise<void> {
    return this.#transact(tasks, { isQuiet: true })
  }

  /** How many messages a transaction takes. A handler of batches gets as many as there are: it knows what is quick. */
  get #most(): number {
    const { handleBatch, batchSize } = this.services.consumer
    return handleBatch === undefined ? this.#pace.most : batchSize
  }

  /** How many tasks may share its transaction. */
  #companyOf({ company, history: { attempts } }: Task): number {
    const { batchSize, transactions, maxAttempts, store } = this.services.consumer
    if (attempts === 0) return Math.min(company, batchSize)
    // A stream grants a message that was tried before only alone.
    if (store.strategy === 'offsets') return 1
    const together = companyOf(attempts, { all: transactions * batchSize, maxAttempts })
    return Math.max(1, Math.min(company, batchSize, Math.floor(together / transactions)))
  }

  /** Another message must not cost this one its last attempt by killing the process, nor the other way round. */
  #needsQuiet({ history: { kind, attempts } }: Task): boolean {
    return kind === 'suspect' && attempts === this.services.consumer.maxAttempts - 1 // mutant: last-attempt-beside-others
  }

  /** Resolves when the transaction is over, with any result. */
  async #transact(tasks: readonly Task[], how: How): Promise<void> {
    this.#open++
    for (const task of tasks) this.permits.acquire(task)
    try {
      await this.#claimAndHandle(tasks, how)
    } finally {
      this.#open--
      this.wake()
    }
  }

  async #claimAndHandle(tasks: readonly Task[], { isQuiet = false, isProven = false }: How): Promise<void> {
    // Claim `alone` only if every task is known to have attempts: for others the store must first say how many they
    // had.
    const areTried = tasks.every(({ history }) => history.kind !== 'untried')
    const batch = await this.services.store.claim(tasks, areTried)
    if (batch === undefined) return this.endAll(tasks, DROPPED)
    const { granted, skipped, givenBack, again, mustStartOver } = followClaim(tasks, batch.steps, {
      companyOf: (task) => this.#companyOf(task),
      needsQuiet: (task) => !isQuiet && this.#needsQuiet(task),
      end: (task, ending) => this.end(task, ending),
      setAside: (item, as, why) => void this.setAside(item, as, why),
    })
    const held = [...granted, ...skipped]
    if (mustStartOver) {
      const claims = [...claimsOf(held), ...givenBack.flatMap((step) => step.claims)]
      await this.services.store.release(claims, REFUND)
      this.endAll(tasksOf(held), RERUN)
      for (const step of givenBack) this.#withoutClaim(step)
    }
    this.endAll(again, RERUN)
    if (mustStartOver) return
    const claimMs = this.services.clock.monotonic() - batch.sentAt
    const claimed = { granted, skipped, runless: tasks.length - granted.length - again.length, claimMs, isProven }
    if (held.length === 0) return this.#measured({ count: claimed.runless, ms: 0, hasFailed: false })
    // The last check before effects begin: a stop or a rebalance may have happened meanwhile.
    const mayBegin = !this.services.isDraining && granted.every(({ task }) => task.isCurrent)
    if (!mayBegin) return this.#rollBack(held)

    // Before the payloads are decoded: the transaction is open while a decoder answers later.
    const openedAt = this.services.clock.monotonic()
    const decoded = await this.#decode(claimed)
    if (decoded !== undefined) await this.#handle(decoded, claimed, openedAt)
  }

  /** Its keys are given back. It is claimed again alone, because others must not start over with it. */
  #withoutClaim({ task, afterwards }: GivenBack): void {
    task.limitCompany(1)
    if (afterwards.next === 'claim-alone') task.tried(afterwards.attempts ?? 1, false)
    else if (afterwards.ending.end === 'wait') task.tried(0, false)
    this.end(task, afterwards.next === 'end' ? afterwards.ending : RERUN)
  }

  /**
   * A message that cannot be decoded is set aside in a transaction of its own, because the row must not commit with the
   * others. Those behind it in its lane wait for that.
   */
  async #decode({ granted, skipped, isProven }: Claimed): Promise<HeldItems | undefined> {
    const decoding = decodePayloads(granted, this.services.decoding)
    const isLate = decoding instanceof Promise
    const undecoded = isLate ? await decoding : decoding
    if (isLate && !granted.every(({ task }) => task.isCurrent)) {
      await this.#rollBack([...granted, ...skipped], undecoded)
      return undefined
    }
    const [first] = undecoded
    if (first === undefined) return { items: granted, left: [], undecoded, isProven }
    if (granted.length + skipped.length === 1 && first.next === 'set-aside') {
      const { item, next: _, ...why } = first
      await this.giveUp(item, 'given-up', { ...why, attempts: item.claim.attempt - 1 })
      return undefined
    }
    for (const { item, next } of undecoded) if (next === 'set-aside') item.task.limitCompany(1)
    const isOpen = openedBy(undecoded)
    const items = granted.filter(isOpen)
    if (items.length > 0) {
      return { items, left: this.#leave(granted.filter((item) => !items.includes(item))), undecoded, isProven }
    }
    await this.#rollBack([...granted, ...skipped], undecoded)
    return undefined
  }

  /** `skipped` items are marked with the others, without a run. */
  async #handle({ items: run, left, undecoded }: HeldItems, claimed: Claimed, openedAt: MonotonicMs): Promise<void> {
    const { skipped, runless, isProven } = claimed
    // No handler of it began, so the attempt does not count.
    if (this.#mustEnd) return this.#rollBack([...run, ...skipped, ...left], undecoded)
    const { clock, store } = this.services
    const end = await this.#runAll(run, openedAt)
    const { begun } = end
    const isHandled = end.result === 'handled'
    const ranAt = clock.monotonic()
    const lap = { count: begun + runless, ms: ranAt - openedAt, hasFailed: !isHandled }
    if (!isHandled) this.#measured(lap)
    const leaving = [...left, ...this.#leave(run.slice(begun))]
    const items = [...run.slice(0, begun), ...skipped]
    const held: HeldItems = { items, left: leaving, undecoded, isProven }
    // The writes of a remembered failure are rolled back and only its mark is committed, so its transaction must hold
    // nothing else.
    const mayMark = isHandled || (end.result === 'remembered' && items.length === 1)
    if (!mayMark) return this.#failed(held, end)
    const results = withResultsOf(skipped, begun, end.results)
    const verdicts = await store.commit(items, results)
    if (isHandled) this.#measured({ ...lap, callsMs: claimed.claimMs + clock.monotonic() - ranAt })
    if (verdicts === undefined) return this.endAll(tasksOf([...items, ...leaving]), DROPPED)
    if ('error' in verdicts) return this.#failed(held, { ...end, result: 'failed', error: verdicts.error })
    this.services.endTogether(() => {
      for (const [index, { task, claim }] of items.entries()) {
        const evidence = Evidence.ofMark(verdicts[index])
        const skip = index < begun ? undefined : skipped[index - begun]
        if (evidence === undefined) this.end(task, RERUN)
        else if (skip === undefined) this.end(task, { end: 'marked', evidence, claim, result: results?.[index] })
        else this.end(task, endOfSkip(skip, evidence))
      }
      this.#endLeft(held)
    })
    store.observeMarks(verdicts)
  }

  /** Runs the handlers of a transaction one after the other, as long as it may stay open. */
  async #runAll(items: readonly RunItem[], openedAt: MonotonicMs): Promise<TransactionEnd> {
    if (this.#isBatch) {
      if (items.length === 0) return { result: 'handled', begun: 0 }
      const end = await this.#run(items)
      const results = end.kept === undefined ? undefined : items.map(() => end.kept)
      return { ...end, begun: items.length, results }
    }
    const kept: (Result | undefined)[] = []
    // An array without a result says so to the store too, but most consumers keep nothing.
    const results = (): TransactionEnd['results'] => (kept.some((one) => one !== undefined) ? kept : undefined)
    let isInterrupted = false
    for (const [at, item] of items.entries()) {
      const endsHere =
        this.#mustEnd || isOpenLongEnough(this.#pace, this.services.clock.monotonic() - openedAt) || isChanged(item) // mutant: stop-runs-the-batch
      if (at > 0 && endsHere) return { result: 'handled', isInterrupted, begun: at, results: results() }
      const end = await this.#run([item])
      kept.push(end.kept)
      if (end.result !== 'handled') return { ...end, begun: at + 1, failed: at, results: results() }
      isInterrupted ||= end.isInterrupted === true
    }
    return { result: 'handled', isInterrupted, begun: items.length, results: results() }
  }

  async #run(items: readonly RunItem[]): Promise<Omit<TransactionEnd, 'begun' | 'failed'>> {
    const [first] = items
    const transaction = first && transactionOf(first)
    if (transaction === undefined) throw new TypeError('an inbox must give a transaction (inbox-runner.run)')
    const lent = transaction.lend()
    const run = new HandlerRun(new Held(items, WITHOUT_LEASE, this.#onStuck))
    run.onAbort = () => lent.revoke()
    const end = await this.#endOf(run, lent.tx)
    this.#running.delete(run)
    this.executor.deadlines.release(run.held)
    const pending = lent.revoke()
    const { isInterrupted } = run
    if (end === undefined) {
      const { handlerTimeoutMs } = this.services.consumer
      this.executor.letGo(run, items)
      return { result: 'unknown', error: run.abortedBy ?? timeoutError(handlerTimeoutMs), isInterrupted }
    }
    const remembered = this.#withKept(run, end)
    const { result } = remembered
    if ((result === 'handled' || result === 'remembered') && pending > 0) {
      const error = new TransactionError(
        'FLOATING_QUERY',
        `the handler ended with ${pending} of its queries not awaited`,
        { cause: end.error },
      )
      return { result: 'failed', error, isInterrupted }
    }
    return isInterrupted ? { ...remembered, isInterrupted } : remembered
  }

  /**
   * `undefined`: it is past its timeout and ignores its signal, or nobody waits any more. One promise for each run:
   * `Promise.race` would need three, and keep one until the transaction ends.
   */
  #endOf(run: HandlerRun, tx: unknown): Promise<RunEnd | undefined> {
    return new Promise((resolve) => {
      this.#running.set(run, () => resolve(undefined))
      const now = this.services.clock.monotonic()
      this.executor.begin(run, tx, now, (_, end) => resolve(this.executor.ended(run, end)))
    })
  }

  /** A position has no room for a trace. */
  #withKept(run: HandlerRun, end: RunEnd): RunEnd {
    if (run.trace?.traceparent === undefined || this.services.consumer.store.strategy === 'offsets') return end
    return { ...end, kept: keptWithTrace(end.kept, run.trace) }
  }

  /** Nothing was committed, so nothing is in doubt. Here `unknown` is treated as an ordinary failure. */
  async #failed(held: HeldItems, end: TransactionEnd): Promise<void> {
    const { items } = held
    const [first, ...others] = items
    if (first === undefined) return
    const culprit = others.length === 0 ? first : culpritOf(items, end, this.services.consumer)
    if (culprit === undefined || end.isInterrupted === true) await this.#again(items, end)
    else {
      const innocent = this.#leave(items.filter((item) => item !== culprit))
      await this.#judged(culprit, end)
      this.#without(innocent)
    }
    this.#endLeft(held)
  }

  /** Messages that were handled before do not share a transaction with untried ones again: each runs twice at most. */
  #endLeft({ left, undecoded, isProven }: HeldItems): void {
    // One that cannot be decoded holds those behind it in its lane.
    if (isProven && undecoded.length === 0) this.#without(left)
    else for (const item of left) this.endUndecoded(item, undecoded)
  }

  /**
   * They run again, in the same attempt: the one that failed alone, those before it without it. If nobody knows which
   * one failed, in smaller batches.
   */
  async #again(items: readonly RunItem[], { failed: at, isInterrupted = false }: TransactionEnd): Promise<void> {
    const failed = at === undefined ? items : items.slice(at, at + 1)
    const innocent = items.filter((item) => !failed.includes(item))
    if (!isInterrupted) {
      if (failed.length > 1) splitUp(tasksOf(failed))
      else for (const { task } of failed) task.limitCompany(1)
    }
    // If another process will run them, or the stop interrupted them, the attempt counts: otherwise nothing would ever
    // count a message that makes every batch fail.
    const runsAgainHere = !isInterrupted && !this.services.isDraining && items.every(({ task }) => task.isCurrent)
    if (runsAgainHere) await this.release(items, REFUND)
    else {
      // A stream counts the starts of its messages together.
      const counted = this.services.consumer.store.strategy === 'offsets' ? items : failed
      if (innocent.length > 0 && counted !== items) await this.release(innocent, REFUND)
      await this.release(counted, NO_REFUND) // mutant: stop-refunds
    }
    this.endAll(tasksOf(failed), RERUN)
    this.#without(innocent)
  }

  /** They run again, in a transaction without the one that failed. */
  #without(items: readonly RunItem[]): void {
    const tasks = tasksOf(items)
    if (this.#mustEnd || tasks.length === 0) return this.endAll(tasks, RERUN)
    for (const task of tasks) {
      this.permits.release(task)
      task.move('taken')
    }
    this.#proven.push(tasks)
    this.permitFreed()
  }

  /** One message failed by itself. */
  async #judged(item: RunItem, { result, error }: TransactionEnd): Promise<void> {
    const { task, claim } = item
    task.limitCompany(1)
    const { attempt } = claim
    const step = afterHandler(
      result === 'unknown' ? 'failed' : result,
      { attempt, doubt: false },
      this.services.consumer,
    )
    // A deadlock victim or a lost backend: the attempt is given back, even the last one.
    const losses = transactionOf(item)?.lossesInARow ?? 0
    // The attempt ended in this process, so this message did not kill it.
    task.tried(losses === 0 ? attempt : attempt - 1, true)
    if (step.next === 'set-aside' && losses === 0) {
      return this.giveUp(item, step.as, {
        reason: step.reason,
        detail: describeError(error),
        error,
        attempts: attempt,
      })
    }
    const { release, ending } = failedAttempt(this.services, item, error, losses)
    await this.release([item], { ...NO_REFUND, ...release })
    this.end(task, ending)
  }

  /** No handler of them begins: their attempts are given back with the end of the transaction. */
  #leave(items: readonly RunItem[]): readonly RunItem[] {
    const [first] = items
    if (first !== undefined) transactionOf(first)?.giveBack(claimsOf(items))
    return items
  }

  /** Rolled back, with all attempts given back. */
  async #rollBack(items: readonly RunItem[], undecoded: readonly Undecoded[] = []): Promise<void> {
    await this.release(items, REFUND)
    for (const item of items) this.endUndecoded(item, undecoded)
  }

  #measured(lap: Lap): void {
    if (lap.count > 0) this.#pace = paced(this.#pace, lap, this.services.consumer.batchSize)
  }

  /** No further handler begins. */
  get #mustEnd(): boolean {
    return this.#isOver || this.services.isDraining
  }

  get #isBatch(): boolean {
    return this.services.consumer.handleBatch !== undefined
  }
}
