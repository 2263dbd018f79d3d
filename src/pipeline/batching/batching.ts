import type { Delivery } from '../../ports/source.ts'
import { Executor } from '../runs/executor.ts'
import type { Unidentified } from '../intake/identify.ts'
import type { Services } from '../services.ts'
import type { Task } from '../task.ts'
import { DoubtQueue, type Apart } from './doubt-queue.ts'

/** Which tasks go into the next claim: one for a lease, one for an inbox, one for mode `observe`. */
export interface Choice {
  /** Tasks that become ready later, and runs that end later, wake the batching themselves. */
  readonly hasWork: boolean
  goOn(): void
  /** How many tasks may run together with this one in a group apart. */
  companyApart(task: Task): number
  /** The task has one attempt left: nothing else begins before it has ended. */
  isLastAttempt(task: Task): boolean
  runApart(tasks: readonly Task[]): Promise<void>
  /**
   * Resolves when records that are written beside the handlers are written, at the latest at the deadline of a stop. No
   * message waits for them.
   */
  written?(): Promise<void>
  /** What to do with a delivery as it was identified: a task, or a dead letter. */
  identified?(delivery: Delivery, identified: Task | Unidentified): Task | Unidentified
  /** Gives back tasks that wait outside the lanes. */
  drain?(): void
  /** The standing of deliveries has changed: partitions were revoked or a channel closed. */
  deliveriesLost?(): void
  /** The stop deadline has passed: no further handler begins. */
  interrupt?(): void
  abandon?(): void
}

/** Takes ready tasks from the lanes, a batch at a time, and has them claimed, handled and marked. Each ends once. */
export class Batching {
  readonly executor: Executor
  /** Runs tasks apart from others that may have killed a process. */
  readonly doubts: DoubtQueue
  readonly #services: Services
  readonly #choice: Choice
  #isWoken = false

  constructor(services: Services, choiceOf: (batching: Batching) => Choice) {
    this.#services = services
    this.executor = new Executor(services, () => {
      this.doubts.released()
      this.wake()
    })
    const { executor } = this
    this.doubts = new DoubtQueue(services, executor, {
      companyOf: (task) => this.#choice.companyApart(task),
      isLast: (task) => this.#choice.isLastAttempt(task),
      run: (tasks) => this.#choice.runApart(tasks),
      onOpen: () => this.wake(),
    })
    this.#choice = choiceOf(this)
  }

  /** Tasks that are claimed, or being claimed. */
  get claimed(): number {
    return this.executor.claimed
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
    if (this.#isWoken || !this.#choice.hasWork) return
    this.#isWoken = true
    this.#services.clock.nextTurn(() => {
      this.#isWoken = false
      this.#choice.goOn()
    })
  }

  /** After a pause. */
  resumed(): void {
    this.doubts.released()
    this.wake()
  }

  drain(): void {
    this.doubts.drain()
    this.#choice.drain?.()
  }

  written(): Promise<void> {
    return this.#choice.written?.() ?? Promise.resolve()
  }

  identified(delivery: Delivery, identified: Task | Unidentified): Task | Unidentified {
    return this.#choice.identified?.(delivery, identified) ?? identified
  }

  deliveriesLost(): void {
    if (this.#choice.deliveriesLost === undefined) this.executor.deliveriesLost()
    else this.#choice.deliveriesLost()
  }

  /** The stop deadline has passed: aborts every run. A run that still finishes is marked. */
  interrupt(reason: Error): void {
    this.#choice.interrupt?.()
    this.executor.deadlines.abort(reason)
  }

  /** The stop deadline and its grace are over: stops waiting for handlers, and leaves no timer. */
  abandon(): void {
    this.#choice.abandon?.()
    this.executor.abandon()
  }
}
