import { afterRun } from '../../core/after-run.ts'
import { FIRST_PACE, isOpenLongEnough, paced, type Lap, type Pace } from '../../core/pace.ts'
import type { Result } from '../../core/record.ts'
import type { MonotonicMs } from '../../core/units.ts'
import { claimsOf } from '../../execution/claims.ts'
import { Held, timeoutError, WITHOUT_LEASE, type OnStuck } from '../../execution/deadlines.ts'
import type { RunEnd } from '../../execution/run-end.ts'
import type { TimedRun } from '../../execution/timed-run.ts'
import { TransactionError, describeError } from '../../foundation/errors.ts'
import type { Outgoing } from '../../ports/outbox.ts'
import { DROPPED, RERUN } from '../ending.ts'
import { Evidence } from '../evidence.ts'
import type { Services } from '../services.ts'
import { endOfSkip } from '../store/marks.ts'
import type { Task } from '../task.ts'
import type { Undecoded } from '../handling/decode-payloads.ts'
import { NO_REFUND, REFUND, type Executor } from './executor.ts'
import { HandlerRun, tasksOf, type RunItem } from '../handling/handler-run.ts'
import {
  culpritOf,
  isChanged,
  openedBy,
  transactionOf,
  withResultsOf,
  type Claimed,
  type HeldItems,
  type TransactionEnd,
} from './shared-transaction.ts'
import { keptWithTrace } from '../handling/traces.ts'

const NOTHING: readonly Outgoing[] = []

/**
 * Runs handlers in transactions. What one message does decides about that message:
 *
 * - A stop, or a transaction that has been open for long enough, ends the batch at its next handler. What was handled
 *   commits, and what never began is given back with its attempt in the same COMMIT.
 * - When a handler fails, everything is rolled back. It runs again alone, in the same attempt, and those before it run
 *   again without it. If nobody knows which message fails the batch, it runs again in smaller ones.
 */
export class InTransaction {
  readonly #services: Services
  readonly #executor: Executor
  readonly #onProven: (tasks: readonly Task[]) => void
  /** The runs under way, with what ends the wait for each. */
  readonly #running = new Map<TimedRun, () => void>()
  readonly #onStuck: OnStuck<RunItem> = (_, run) => this.#running.get(run)?.()
  readonly #isBatch: boolean
  #pace: Pace = FIRST_PACE
  #isOver = false

  /** `onProven`: takes tasks that were handled beside one that failed, for a transaction without it. */
  constructor(services: Services, executor: Executor, onProven: (tasks: readonly Task[]) => void) {
    this.#services = services
    this.#executor = executor
    this.#onProven = onProven
    this.#isBatch = services.consumer.handleBatch !== undefined
  }

  /** How many messages a transaction takes. A handler of batches gets as many as there are: it knows what is quick. */
  get most(): number {
    return this.#isBatch ? this.#services.consumer.batchSize : this.#pace.most
  }

  /** Handlers that wait for their turn in a transaction do not begin. */
  interrupt(): void {
    this.#isOver = true
  }

  abandon(): void {
    this.#isOver = true
    for (const waitNoMore of this.#running.values()) waitNoMore()
  }

  /** Resolves when the transaction is over, with any result. */
  async handle(claimed: Claimed): Promise<void> {
    const { granted, skipped, runless } = claimed
    const { isDraining, clock } = this.#services
    if (granted.length + skipped.length === 0) return this.#measured({ count: runless, ms: 0, hasFailed: false })
    // The last check before effects begin: a stop or a rebalance may have happened meanwhile.
    const mayBegin = !isDraining && granted.every(({ task }) => task.isCurrent)
    if (!mayBegin) return this.#rollBack([...granted, ...skipped])
    // Before the payloads are decoded: the transaction is open while a decoder answers later.
    const openedAt = clock.monotonic()
    const decoded = await this.#decode(claimed)
    if (decoded !== undefined) await this.#handle(decoded, claimed, openedAt)
  }

  /**
   * A message that cannot be decoded is set aside in a transaction of its own, because the row must not commit with the
   * others. Those behind it in its lane wait for that.
   */
  async #decode({ granted, skipped, isProven }: Claimed): Promise<HeldItems | undefined> {
    const undecoded = await new Promise<readonly Undecoded[]>((resolve) =>
      this.#executor.decode(granted, WITHOUT_LEASE, (_, found) => resolve(found)),
    )
    const held = [...granted, ...skipped]
    if (!granted.every(({ task }) => task.isCurrent)) {
      await this.#rollBack(held, undecoded)
      return undefined
    }
    const [first] = undecoded
    if (first === undefined) return { items: granted, left: [], undecoded, isProven }
    if (held.length === 1) {
      await this.#executor.undecoded(first, 'transaction')
      return undefined
    }
    for (const { item, next } of undecoded) if (next === 'set-aside') item.task.limitCompany(1)
    const isOpen = openedBy(undecoded)
    const items = granted.filter(isOpen)
    if (items.length > 0) {
      return { items, left: this.#leave(granted.filter((item) => !items.includes(item))), undecoded, isProven }
    }
    await this.#rollBack(held, undecoded)
    return undefined
  }

  /** `skipped` items are marked with the others, without a run. */
  async #handle({ items: run, left, undecoded }: HeldItems, claimed: Claimed, openedAt: MonotonicMs): Promise<void> {
    const { skipped, runless, isProven } = claimed
    // No handler of it began, so the attempt does not count.
    if (this.#mustEnd) return this.#rollBack([...run, ...skipped, ...left], undecoded)
    const { clock, store } = this.#services
    const executor = this.#executor
    const end = await this.#runAll(run, openedAt)
    const { begun } = end
    const isHandled = end.result === 'handled'
    const ranAt = clock.monotonic()
    const lap = { count: begun + runless, ms: ranAt - openedAt, hasFailed: !isHandled }
    if (!isHandled) this.#measured(lap)
    const leaving = [...left, ...this.#leave(run.slice(begun))]
    const items = [...run.slice(0, begun), ...skipped]
    const held: HeldItems = { items, left: leaving, undecoded, isProven }
    // A remembered failure of one of several is judged alone.
    const mayMark = isHandled || (end.result === 'remembered' && items.length === 1)
    if (!mayMark) return this.#failed(held, end)
    const results = withResultsOf(skipped, begun, end.results)
    const verdicts = await store.commit(items, results)
    if (isHandled) this.#measured({ ...lap, callsMs: claimed.claimMs + clock.monotonic() - ranAt })
    if (verdicts === undefined) return executor.endAll(tasksOf([...items, ...leaving]), DROPPED)
    if ('error' in verdicts) return this.#failed(held, { ...end, result: 'failed', error: verdicts.error })
    this.#services.endTogether(() => {
      for (const [index, { task, claim }] of items.entries()) {
        const evidence = Evidence.ofMark(verdicts[index])
        const skip = index < begun ? undefined : skipped[index - begun]
        if (evidence === undefined) executor.end(task, RERUN)
        else if (skip === undefined) executor.end(task, { end: 'handled', evidence, claim, result: results?.[index] })
        else executor.end(task, endOfSkip(skip, evidence))
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
        this.#mustEnd || isOpenLongEnough(this.#pace, this.#services.clock.monotonic() - openedAt) || isChanged(item) // mutant: stop-runs-the-batch
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
    if (transaction === undefined) throw new TypeError('an inbox must give a transaction (in-transaction.run)')
    const lent = transaction.lend()
    const run = new HandlerRun(new Held(items, WITHOUT_LEASE, this.#onStuck))
    run.onAbort = () => lent.revoke()
    const end = await this.#endOf(run, lent.tx)
    this.#running.delete(run)
    this.#executor.deadlines.release(run.held)
    const pending = lent.revoke()
    const { isInterrupted } = run
    if (end === undefined) {
      run.publishing?.end()
      this.#executor.letGo(run, items)
      const error = run.abortedBy ?? timeoutError(run, this.#services.consumer)
      return { result: 'unknown', error, isInterrupted }
    }
    const kept = this.#withTrace(run, end)
    const { result } = kept
    const outgoing = run.publishing?.end() ?? NOTHING
    if ((result === 'handled' || result === 'remembered') && pending > 0) {
      const error = new TransactionError(
        'FLOATING_QUERY',
        `the handler ended with ${pending} of its queries not awaited`,
        { cause: end.error },
      )
      return { result: 'failed', error, isInterrupted }
    }
    if (result === 'handled' && outgoing.length > 0) transaction.publish?.(outgoing)
    return isInterrupted ? { ...kept, isInterrupted } : kept
  }

  /** A position has no room for a trace. */
  #withTrace({ trace }: HandlerRun, end: RunEnd): RunEnd {
    if (trace?.traceparent === undefined || this.#services.consumer.store.strategy === 'offsets') return end
    return { ...end, kept: keptWithTrace(end.kept, trace) }
  }

  /**
   * `undefined`: it is past its timeout and ignores its signal, or nobody waits any more. One promise for each run:
   * `Promise.race` would need three, and keep one until the transaction ends.
   */
  #endOf(run: HandlerRun, tx: unknown): Promise<RunEnd | undefined> {
    return new Promise((resolve) => {
      this.#running.set(run, () => resolve(undefined))
      const now = this.#services.clock.monotonic()
      this.#executor.begin(run, tx, now, (_, end) => resolve(this.#executor.ended(run, end)))
    })
  }

  /** Nothing was committed, so nothing is in doubt. */
  async #failed(held: HeldItems, end: TransactionEnd): Promise<void> {
    const { items } = held
    const [first, ...others] = items
    if (first === undefined) return
    const { consumer } = this.#services
    const culprit = others.length === 0 ? first : culpritOf(items, end, consumer)
    const { result, error, isInterrupted = false } = end
    const messages = culprit === undefined ? items.length : 1
    const item = culprit ?? first
    const { attempt } = item.claim
    // A deadlock victim or a lost backend: the attempt is given back, even the last one.
    const losses = transactionOf(item)?.lossesInARow ?? 0 // mutant: deadlock-fails-for-good
    const mayPutOff = this.#services.putOffs.mayPutOff(culprit === undefined ? items : [item])
    const ran = { result, attempt, doubt: false, messages, isInterrupted, losses, mayPutOff }
    const step = afterRun(ran, 'transaction', consumer)
    if (step.next === 'put-off') {
      const later = culprit === undefined ? items : [item]
      const innocent = this.#leave(items.filter((one) => !later.includes(one)))
      await this.#executor.putOff(later, error)
      this.#without(innocent)
    } else if (step.next === 'set-aside' || step.next === 'retry') {
      const { task } = item
      const innocent = this.#leave(items.filter((one) => one !== item))
      task.limitCompany(1)
      // The attempt ended in this process, so this message did not kill it.
      task.tried(losses === 0 ? attempt : attempt - 1, true)
      if (step.next === 'retry') await this.#executor.retry(item, error, losses)
      else {
        const why = { reason: step.reason, detail: describeError(error), error, attempts: attempt }
        await this.#executor.giveUp(item, step.as, why)
      }
      this.#without(innocent)
    } else await this.#again(items, end.failed)
    this.#endLeft(held)
  }

  /** Messages that were handled before do not share a transaction with untried ones again: each runs twice at most. */
  #endLeft({ left, undecoded, isProven }: HeldItems): void {
    // One that cannot be decoded holds those behind it in its lane.
    if (isProven && undecoded.length === 0) this.#without(left)
    else for (const item of left) this.#executor.endUndecoded(item, undecoded)
  }

  /**
   * They run again, in the same attempt: the one that failed alone, those before it without it. If nobody knows which
   * one failed, in smaller batches.
   */
  async #again(items: readonly RunItem[], at: number | undefined): Promise<void> {
    const failed = at === undefined ? items : items.slice(at, at + 1)
    const innocent = items.filter((item) => !failed.includes(item))
    const executor = this.#executor
    executor.split(failed)
    // If another process will run them, or the stop interrupted them, the attempt counts: otherwise nothing would ever
    // count a message that makes every batch fail.
    if (executor.runAgainHere(items)) await executor.release(items, REFUND)
    else {
      // A stream counts the starts of its messages together.
      const counted = this.#services.consumer.store.strategy === 'offsets' ? items : failed
      if (innocent.length > 0 && counted !== items) await executor.release(innocent, REFUND)
      await executor.release(counted, NO_REFUND) // mutant: stop-refunds
    }
    executor.endAll(tasksOf(failed), RERUN)
    this.#without(innocent)
  }

  /** They run again, in a transaction without the one that failed. */
  #without(items: readonly RunItem[]): void {
    const tasks = tasksOf(items)
    if (this.#mustEnd || tasks.length === 0) return this.#executor.endAll(tasks, RERUN)
    this.#onProven(tasks)
  }

  /** No handler of them begins: their attempts are given back with the end of the transaction. */
  #leave(items: readonly RunItem[]): readonly RunItem[] {
    const [first] = items
    if (first !== undefined) transactionOf(first)?.giveBack(claimsOf(items))
    return items
  }

  /** Rolled back, with all attempts given back. */
  async #rollBack(items: readonly RunItem[], undecoded: readonly Undecoded[] = []): Promise<void> {
    await this.#executor.release(items, REFUND)
    for (const item of items) this.#executor.endUndecoded(item, undecoded)
  }

  #measured(lap: Lap): void {
    if (lap.count > 0) this.#pace = paced(this.#pace, lap, this.#services.consumer.batchSize)
  }

  /** No further handler begins. */
  get #mustEnd(): boolean {
    return this.#isOver || this.#services.isDraining
  }
}
