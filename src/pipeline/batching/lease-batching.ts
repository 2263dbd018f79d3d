import { companyOf } from '../../core/company.ts'
import { Held } from '../../execution/deadlines.ts'
import type { LeaseStore } from '../../ports/store.ts'
import { DROPPED } from '../ending.ts'
import { REFUND, type Executor } from '../runs/executor.ts'
import type { RunItem } from '../handling/handler-run.ts'
import { UnderLease } from '../runs/under-lease.ts'
import { Unprotected } from '../runs/unprotected.ts'
import type { Services } from '../services.ts'
import type { ClaimStep, GivenBack, Granted } from '../store/claim-step.ts'
import type { Task } from '../task.ts'
import type { Batching, Choice } from './batching.ts'

/**
 * Claims tasks under leases. Each turn of the event loop makes one claim call for ready tasks: as many as there are free
 * permits, but at most half of all, so that one half is handled while the other is at the store. It also makes one mark
 * call for all runs that ended in it. Messages that are claimed when the process dies are in doubt, and effects without
 * a mark become duplicates, so the permits bound both. A permit is free when its mark is durable. If the store keeps
 * the order of its calls, the next claim is sent right behind that mark, not after its answer: one round trip for both.
 */
export class LeaseBatching implements Choice {
  readonly #services: Services
  readonly #store: LeaseStore
  readonly #batching: Batching
  readonly #executor: Executor
  readonly #leases: UnderLease
  /** Set with `onStoreDown: 'run-unprotected'`. */
  readonly #unprotected: Unprotected | undefined

  constructor(services: Services, store: LeaseStore, batching: Batching) {
    const { executor } = batching
    const goesOn = services.consumer.onStoreDown === 'run-unprotected'
    this.#services = services
    this.#store = store
    this.#batching = batching
    this.#executor = executor
    this.#unprotected = goesOn ? new Unprotected(services, executor) : undefined
    this.#leases = new UnderLease(services, executor, {
      onMarkWaits: (isLast) => (isLast ? this.goOn() : batching.wake()),
      unprotected: this.#unprotected,
    })
  }

  async written(): Promise<void> {
    await this.#unprotected?.written()
  }

  abandon(): void {
    this.#unprotected?.abandon()
  }

  get hasWork(): boolean {
    return this.#leases.marks.areWaiting || this.#services.lanes.hasReady
  }

  goOn(): void {
    const { marks } = this.#leases
    marks.flush()
    const { consumer, lanes, store, isDraining } = this.#services
    // A store that keeps the order has marked them before it executes the claim.
    const almostFree = this.#store.inOrder === true ? marks.tasksUnderWay : 0
    const free = consumer.concurrency - this.#executor.claimed + almostFree
    const unprotected = store.isDown ? this.#unprotected : undefined
    if (free <= 0 || isDraining || !lanes.hasReady) return
    // Without the store nobody knows what may have killed a process, so nothing waits for that.
    if (unprotected === undefined && (store.isDown || !this.#batching.doubts.isGateOpen)) return
    // One half of the permits is at the store while the other half is handled.
    const most = consumer.handleBatch ? consumer.batchSize : Math.ceil(consumer.concurrency / 2)
    const tasks = this.#executor.stillOurs(lanes.take(Math.min(free, most)))
    if (unprotected !== undefined) unprotected.start(tasks)
    else if (tasks.length > 0) void this.#claim(tasks, false)
    if (lanes.hasReady) this.#batching.wake()
  }

  runApart(tasks: readonly Task[]): Promise<void> {
    return this.#claim(tasks, true)
  }

  isLastAttempt({ history }: Task): boolean {
    return history.attempts >= this.#services.consumer.maxAttempts - 1
  }

  /** The number of attempts is not known before the claim. */
  companyApart({ history }: Task): number {
    const { concurrency, maxAttempts } = this.#services.consumer
    return companyOf(Math.max(1, history.attempts), { all: concurrency, maxAttempts })
  }

  /** Resolves when each task has ended, is on its way to its end, or is being handled. */
  async #claim(tasks: readonly Task[], alone: boolean): Promise<void> {
    const executor = this.#executor
    const { marks } = this.#leases
    executor.acquire(tasks)
    const earlier = this.#store.inOrder === true ? marks.answered : undefined
    const unprotected = alone ? undefined : this.#unprotected
    let isUnprotected = false
    const onFailing = (): void => {
      isUnprotected = true
      unprotected?.start(executor.stillOurs(tasks))
    }
    const batch = await this.#services.store.claim(tasks, alone, unprotected && onFailing)
    if (isUnprotected) return unprotected?.answered(tasks, batch)
    if (batch === undefined) return executor.endAll(tasks, DROPPED)
    const { steps, sentAt } = batch
    const granted = this.#services.endTogether(() => this.#follow(tasks, steps))
    if (alone) await this.#giveBackCompany(granted)
    // Even if the store did not keep the order, no handler begins before the marks are durable whose permits it takes.
    const mustWait = earlier !== undefined && granted.length > 0
    this.#leases.start(granted, mustWait ? await this.#renewedUntil(earlier, granted, sentAt) : sentAt) // mutant: claim-begins-before-marks
  }

  /** Ends the tasks that were not granted, and returns those that may run. */
  #follow(tasks: readonly Task[], steps: readonly ClaimStep[]): Granted[] {
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
        case 'set-aside': {
          const { claim, others, as, why, doubt } = step
          if (doubt) this.#leases.inDoubt([{ task, claim }], { policy: 'park', earlier: 1 })
          void this.#executor.setAside({ task, claim, others }, as, why)
          break
        }
        case 'give-back':
          ;(givenBack ??= []).push(step)
          break
        case 'claim-alone':
        case 'end':
          this.#withoutClaim(task, step)
          break
      }
    }
    if (skipped !== undefined) void this.#leases.marks.skip(skipped)
    if (givenBack !== undefined) void this.#giveBackKeys(givenBack)
    return granted
  }

  #withoutClaim(task: Task, step: GivenBack['afterwards']): void {
    if (step.next === 'end') return this.#executor.end(task, step.ending)
    this.#executor.handOver([task], () => this.#batching.doubts.add(task))
  }

  /** Releases some keys of messages that may not run, before these are claimed again or dead-lettered. */
  async #giveBackKeys(steps: readonly GivenBack[]): Promise<void> {
    await this.#services.store.release(
      steps.flatMap((step) => step.claims),
      REFUND,
    )
    for (const { task, afterwards } of steps) this.#withoutClaim(task, afterwards)
  }

  /**
   * A task whose attempts, now known, allow only a smaller group is given back and claimed again. The others begin
   * after that: otherwise one of them could kill the process first and cost it this attempt.
   */
  async #giveBackCompany(granted: Granted[]): Promise<void> {
    granted.sort((a, b) => a.claim.attempt - b.claim.attempt)
    const tooMany = granted.findIndex(({ task }, at) => at + 1 > this.companyApart(task))
    if (tooMany > 0) await this.#executor.giveBack(granted.splice(tooMany), REFUND)
  }

  /** Renews the lease of granted tasks that wait to begin. Returns when it was granted or last renewed. */
  async #renewedUntil(over: Promise<unknown>, items: readonly RunItem[], sentAt: number): Promise<number> {
    const { deadlines } = this.#executor
    const lease = deadlines.keep(new Held(items, sentAt))
    await over
    deadlines.release(lease)
    return lease.sentAt
  }
}
