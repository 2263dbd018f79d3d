import { backoffMs } from '../../core/backoff.ts'
import type { InDoubtPolicy } from '../../core/after-claim.ts'
import { afterRun, type AfterRun, type HandlerResult, type Ran } from '../../core/after-run.ts'
import type { MonotonicMs } from '../../core/units.ts'
import type { Reconciled } from '../../consumer/options.ts'
import { Held, timeoutError } from '../../execution/deadlines.ts'
import type { RunEnd } from '../../execution/run-end.ts'
import { TimedRun } from '../../execution/timed-run.ts'
import { describeError } from '../../foundation/errors.ts'
import type { Services } from '../services.ts'
import type { Granted } from '../store/claim-step.ts'
import { Marks } from '../store/marks.ts'
import { causeOf } from '../telemetry/cause.ts'
import { batchesOf } from './batches.ts'
import { NO_REFUND, REFUND, type BeginDecoded, type ClaimedTask, type Executor } from './executor.ts'
import { HandlerRun, type RunItem } from '../handling/handler-run.ts'
import { keptWithTrace, tracedBy } from '../handling/traces.ts'
import type { Unprotected } from './unprotected.ts'

interface Doubt {
  readonly policy: InDoubtPolicy
  readonly error?: unknown
  /**
   * 1: the doubt comes from the attempt before the claim's own, by an owner whose lease ended.
   * @defaultValue 0
   */
  readonly earlier?: 0 | 1
}

interface Hooks {
  /** A run ended with its effect, and its mark waits. `isLast`: no other handler can end in this turn. */
  readonly onMarkWaits: (isLast: boolean) => void
  readonly unprotected: Unprotected | undefined
}

/** Runs handlers under leases. A run that ended with its effect is marked with all others of its turn. */
export class UnderLease {
  readonly marks: Marks
  readonly #services: Services
  readonly #executor: Executor
  readonly #hooks: Hooks
  /** One function each for all runs. */
  readonly #onStuck = (lease: Held<RunItem>, run: TimedRun): void => this.#abandon(lease, run)
  readonly #onEnd = (run: HandlerRun, end: RunEnd): void => this.#ended(run, end)
  readonly #begin: BeginDecoded = (items, undecoded, sentAt) => {
    for (const one of undecoded) void this.#executor.undecoded(one, 'lease')
    if (items.length > 0) this.#run(items, sentAt)
  }
  readonly #giveBack = (items: readonly RunItem[]): void => void this.#executor.giveBack(items, REFUND)
  /** Handlers that have not ended. */
  #running = 0

  constructor(services: Services, executor: Executor, hooks: Hooks) {
    const { unprotected } = hooks
    this.#services = services
    this.#executor = executor
    this.#hooks = hooks
    this.marks = new Marks(services, {
      onAnswered: (lease) => executor.deadlines.release(lease),
      end: (task, ending) => executor.end(task, ending),
      onUnmarked: unprotected && ((task) => unprotected.tell(task, { result: 'handled' })),
    })
  }

  /** `sentAt`: when their claim was sent, or last renewed. */
  start(granted: readonly Granted[], sentAt: MonotonicMs): void {
    const together: RunItem[] = []
    for (const item of granted) {
      const isReconciled = item.next === 'reconcile'
      if (item.doubt) this.inDoubt([item], { policy: isReconciled ? 'reconcile' : 'rerun', earlier: 1 })
      if (isReconciled) void this.#reconcile(item, sentAt)
      else if (this.#services.consumer.handleBatch !== undefined) together.push(item)
      else this.#executor.decode([item], sentAt, this.#begin)
    }
    for (const batch of batchesOf(together)) this.#executor.decode(batch, sentAt, this.#begin)
  }

  inDoubt(items: readonly ClaimedTask[], { policy, error, earlier = 0 }: Doubt): void {
    for (const { task, claim } of items) {
      const { key, message } = task
      const attempt = claim.attempt - earlier
      this.#services.observe({ type: 'in-doubt', key, message, attempt, policy, error, ...tracedBy(task) })
    }
  }

  #run(items: readonly RunItem[], sentAt: MonotonicMs): void {
    const executor = this.#executor
    const now = this.#services.clock.monotonic()
    // The answer may have been slow.
    const isInTime = executor.deadlines.mayBegin(sentAt, now)
    const beginning = executor.beginning(items, isInTime, this.#giveBack)
    if (beginning.length === 0) return
    this.#running++
    const run = new HandlerRun(new Held(beginning, sentAt, this.#onStuck))
    executor.begin(run, undefined, now, this.#onEnd)
  }

  #ended(run: HandlerRun, how: RunEnd): void {
    const { held: lease } = run
    const end = this.#executor.ended(run, how)
    lease.kept = keptWithTrace(end.kept, run.trace)
    if (lease.isOutlived) for (const { task } of run.items) this.#hooks.unprotected?.tell(task, end)
    this.#running--
    if (run.state === 'late') {
      if (end.result === 'handled') void this.marks.markLate(lease)
    } else if (end.result === 'handled') this.#mark(lease)
    else void this.#endedWithoutEffect(run, end)
  }

  #mark(lease: Held<RunItem>): void {
    this.marks.add(lease)
    this.#hooks.onMarkWaits(this.#running === 0)
  }

  /** Also handles a run whose effect is unknown. */
  async #endedWithoutEffect({ items, held: lease, isInterrupted }: HandlerRun, end: RunEnd): Promise<void> {
    const { result, error } = end
    const [first] = items
    if (first === undefined) return
    const { consumer } = this.#services
    const executor = this.#executor
    const { task, claim } = first
    const mayPutOff = this.#services.putOffs.mayPutOff(items)
    const step = this.#after(first, result, { messages: items.length, isInterrupted, mayPutOff })
    switch (step.next) {
      case 'mark':
        return this.#mark(lease)
      case 'split':
        executor.split(items)
        // In the same attempt. If another process will run them, the attempt counts: otherwise such runs could go on for
        // ever.
        await executor.giveBack(items, executor.runAgainHere(items) ? REFUND : NO_REFUND)
        break
      case 'again':
        await executor.giveBack(items, NO_REFUND)
        break
      case 'put-off':
        await executor.putOff(items, error)
        break
      case 'retry':
        await executor.retry(first, error)
        break
      case 'rerun-in-doubt': {
        this.inDoubt(items, { policy: consumer.onInDoubt, error })
        // With a delay, as after any other failure: a provider that did not answer in time gets time.
        const rerunInMs = backoffMs(claim.attempt, consumer.backoff, this.#services.entropy.fraction())
        const delayMs = isInterrupted ? 0 : rerunInMs
        const cause = causeOf({ detail: describeError(error), error }, task.message)
        await executor.release(items, { refund: false, doubt: true, delayMs, cause })
        for (const item of items) executor.end(item.task, { end: 'rerun', delayMs: rerunInMs })
        break
      }
      case 'set-aside': {
        const { as, reason } = step
        if (reason === 'in-doubt') this.inDoubt(items, { policy: 'park', error })
        const why = { reason, detail: describeError(error), error }
        await Promise.all(items.map((item) => executor.giveUp(item, as, { ...why, attempts: item.claim.attempt })))
        break
      }
    }
    executor.deadlines.release(lease)
  }

  async #reconcile(item: RunItem, sentAt: MonotonicMs): Promise<void> {
    const { consumer, clock } = this.#services
    const { deadlines } = this.#executor
    const { task, claim } = item
    const run = new TimedRun().begin(clock.monotonic())
    const lease = deadlines.keep(new Held([item], sentAt, this.#onStuck), run)
    let answer: Reconciled | undefined
    let failure: { readonly error?: unknown } = {}
    try {
      answer = await consumer.reconcile?.(task.message, task.idempotencyKey)
    } catch (error) {
      failure = { error }
    }
    if (!this.#executor.isInTime(run)) return
    if (answer === 'happened') return this.marks.mark([lease])
    if (answer === 'did-not-happen') {
      deadlines.release(lease)
      return this.#executor.decode([item], lease.sentAt, this.#begin)
    }
    const detail = 'error' in failure ? `reconcile threw: ${describeError(failure.error)}` : 'reconcile could not tell'
    const why = { reason: 'in-doubt', detail, ...failure, attempts: claim.attempt - 1 } as const
    await this.#executor.setAside(item, 'parked', why)
    deadlines.release(lease)
  }

  #after(
    { claim, doubt }: RunItem,
    result: HandlerResult,
    how: Pick<Ran, 'messages' | 'isInterrupted' | 'mayPutOff'>,
  ): AfterRun {
    return afterRun({ ...how, result, attempt: claim.attempt, doubt, losses: 0 }, 'lease', this.#services.consumer)
  }

  #abandon(lease: Held<RunItem>, run: TimedRun): void {
    const { items } = lease
    const executor = this.#executor
    executor.letGo(run, items)
    executor.deadlines.release(lease)
    const { consumer } = this.#services
    const detail = `${timeoutError(run, consumer).message} and did not end when aborted`
    for (const item of items) {
      const step = this.#after(item, 'unknown', { messages: 1, isInterrupted: false })
      if (step.next !== 'set-aside') executor.end(item.task, { end: 'rerun', delayMs: consumer.leaseMs })
      else {
        this.inDoubt([item], { policy: 'park' })
        void executor.giveUp(item, step.as, { reason: step.reason, detail, attempts: item.claim.attempt })
      }
    }
  }
}
