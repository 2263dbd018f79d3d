import type { ReleaseOptions } from '../../ports/store.ts'
import { claimsOf } from '../../execution/claims.ts'
import { DoubtQueue, type Apart } from './doubt-queue.ts'
import { DROPPED, RERUN, type Ending, type SettingAside } from '../ending.ts'
import { Executor } from '../handling/executor.ts'
import type { RunItem } from '../handling/handler-run.ts'
import type { Undecoded } from '../handling/decode-payloads.ts'
import type { Delivery } from '../../ports/source.ts'
import type { Unidentified } from '../intake/identify.ts'
import { Semaphore } from '../intake/semaphore.ts'
import type { Services } from '../services.ts'
import type { Task } from '../task.ts'

/**
 * Claims, handles and marks ready tasks, and returns one `Ending` for each. There is one runner for each strategy of the
 * store.
 */
export abstract class Runner {
  protected readonly services: Services
  protected readonly permits: Semaphore = new Semaphore()
  protected readonly executor: Executor
  /** Runs tasks apart from others that may have killed a process. */
  protected readonly doubts: DoubtQueue
  #isWoken = false

  constructor(services: Services) {
    this.services = services
    this.executor = new Executor(services)
    this.doubts = new DoubtQueue(services, {
      permits: this.permits,
      companyOf: (task) => this.companyApart(task),
      isLast: (task) => this.isLastAttempt(task),
      run: (tasks) => this.runApart(tasks),
      onOpen: () => this.wake(),
    })
  }

  /** Tasks that are claimed, or being claimed. */
  get claimed(): number {
    return this.permits.held
  }

  /** Handlers that are past their timeout and ignore `signal`. */
  get stuck(): number {
    return this.executor.stuck
  }

  /** The group that runs apart from all others, which wait for it. */
  get apart(): Apart | undefined {
    return this.doubts.apart
  }

  /** A task became ready, or a run ended: checks for work once, at the end of this turn of the event loop. */
  wake(): void {
    if (this.#isWoken || !this.hasWork) return
    this.#isWoken = true
    this.services.clock.nextTurn(() => {
      this.#isWoken = false
      this.goOn()
    })
  }

  /** After a pause. */
  resumed(): void {
    this.doubts.released()
    this.wake()
  }

  /** Gives back tasks that wait outside the lanes, and claims nothing more. */
  drain(): void {
    this.doubts.drain()
  }

  /**
   * Resolves when records that are written beside the handlers are written, at the latest at the deadline of a stop. No
   * message waits for them.
   */
  written(): Promise<void> {
    return Promise.resolve()
  }

  /** What to do with a delivery as it was identified: a task, or a dead letter. */
  identified(_delivery: Delivery, identified: Task | Unidentified): Task | Unidentified {
    return identified
  }

  /** The standing of deliveries has changed: partitions were revoked or a channel closed. */
  deliveriesLost(): void {
    this.executor.deliveriesLost()
  }

  /** The stop deadline has passed: aborts every run. A run that still finishes is marked. */
  interrupt(reason: Error): void {
    this.executor.deadlines.abort(reason)
  }

  /** The stop deadline and its grace are over: stops waiting for handlers, and leaves no timer. */
  abandon(): void {
    this.executor.abandon()
  }

  /** Tasks that become ready later, and runs that end later, wake the runner themselves. */
  protected abstract get hasWork(): boolean
  protected abstract goOn(): void
  /** How many tasks may run together with this one in a group apart. */
  protected abstract companyApart(task: Task): number
  /** The task has one attempt left: nothing else begins before it has ended. */
  protected abstract isLastAttempt(task: Task): boolean
  protected abstract runApart(tasks: readonly Task[]): Promise<void>

  protected stillOurs(tasks: readonly Task[]): readonly Task[] {
    if (tasks.every(({ isCurrent }) => isCurrent)) return tasks
    this.endAll(
      tasks.filter(({ isCurrent }) => !isCurrent),
      DROPPED,
    )
    return tasks.filter(({ isCurrent }) => isCurrent)
  }

  protected end(task: Task, ending: Ending): void {
    this.permits.release(task)
    this.services.end(task, ending)
    this.permitFreed()
  }

  protected permitFreed(): void {
    this.doubts.released()
    this.wake()
  }

  protected endAll(tasks: readonly Task[], ending: Ending): void {
    for (const task of tasks) this.end(task, ending)
  }

  /**
   * This run ends its message without the effect. While the consumer holds, the message goes back to its place instead,
   * with its attempt; what may have had its effect is always set aside.
   */
  protected async giveUp(item: RunItem, as: 'given-up' | 'parked', why: SettingAside): Promise<void> {
    const { hold } = this.services
    const { task, claim } = item
    if (why.reason === 'in-doubt') hold.failed(why, task.message, task)
    else if (!hold.admits(why, task)) {
      await this.release([item], { refund: true, doubt: false })
      task.tried(claim.attempt - 1, true)
      return this.end(task, RERUN)
    }
    await this.setAside(item, as, why)
  }

  /** `giveUp` is for what this process saw fail; this alone is for what a claim found. */
  protected async setAside(
    item: Pick<RunItem, 'task' | 'claim' | 'others'>,
    as: 'given-up' | 'parked',
    why: SettingAside,
  ): Promise<void> {
    this.end(item.task, await this.services.store.setAside(item, as, why))
  }

  protected async release(items: readonly RunItem[], how: ReleaseOptions): Promise<void> {
    await this.services.store.release(claimsOf(items), how)
  }

  /** No handler of it began: it runs again, and what could not be decoded waits before that. */
  protected endUndecoded({ task }: RunItem, undecoded: readonly Undecoded[]): void {
    const of = undecoded.find(({ item }) => item.task === task)
    const { decoding } = this.services
    if (of?.next === 'again') this.end(task, { end: 'rerun', delayMs: decoding.failed(task, task.message, of.error) })
    else this.end(task, RERUN)
  }
}

export function tasksOf(items: readonly RunItem[]): readonly Task[] {
  return items.map(({ task }) => task)
}
