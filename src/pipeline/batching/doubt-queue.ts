import type { DurationMs, MonotonicMs } from '../../core/units.ts'
import { RETRY_TIMES } from '../../consumer/retry-times.ts'
import { DROPPED } from '../ending.ts'
import type { Executor } from '../runs/executor.ts'
import type { Services } from '../services.ts'
import type { Task } from '../task.ts'

interface DoubtHooks {
  /** How many tasks may run together with this one. */
  readonly companyOf: (task: Task) => number
  readonly isLast: (task: Task) => boolean
  readonly run: (tasks: readonly Task[]) => Promise<void>
  readonly onOpen: () => void
}

/** The group of tasks that holds up everything else, and for how long. */
export interface Apart {
  readonly count: number
  readonly sinceMs: DurationMs
}

/**
 * Runs messages that may have killed a process apart from others: under a lease messages in doubt, in an inbox messages
 * in their last attempt. The claim gate closes, and the queue waits until the process holds no other claim, or for
 * `quietMs`. Then it claims and runs as many messages at once as their attempts allow. The gate opens when they have
 * ended. Unless one is in its last attempt, it also opens after `quietMs`: a message that kills a process at once has
 * done so by then, and a slow one must not hold up the rest. With the policy `park` no handler runs, so the gate stays
 * open.
 */
export class DoubtQueue {
  readonly #services: Services
  readonly #executor: Executor
  readonly #hooks: DoubtHooks
  #tasks: Task[] = []
  #isAtWork = false
  #closedAt: MonotonicMs | undefined
  /** Number of tasks in the group that the gate is closed for. */
  #count = 0
  #onFreed: (() => void) | undefined

  constructor(services: Services, executor: Executor, hooks: DoubtHooks) {
    this.#services = services
    this.#executor = executor
    this.#hooks = hooks
  }

  get isGateOpen(): boolean {
    return this.#closedAt === undefined
  }

  /** `undefined`: nothing waits for a group. */
  get apart(): Apart | undefined {
    if (this.#closedAt === undefined) return undefined
    return { count: this.#count, sinceMs: this.#services.clock.monotonic() - this.#closedAt }
  }

  add(task: Task): void {
    if (this.#services.isDraining) return this.#services.end(task, DROPPED)
    this.#tasks.push(task)
    // Wait for the end of this turn: one batch of claims may find many messages in doubt.
    if (this.#tasks.length === 1) this.#services.clock.nextTurn(() => void this.#run())
  }

  /** A permit became free, so the process may be quiet now; or the consumer goes on after a pause. */
  released(): void {
    this.#onFreed?.()
  }

  drain(): void {
    for (const task of this.#tasks.splice(0)) this.#services.end(task, DROPPED)
    this.#onFreed?.()
  }

  async #run(): Promise<void> {
    if (this.#isAtWork) return
    this.#isAtWork = true
    await this.#resumed()
    if (this.#services.consumer.onInDoubt === 'park') {
      for (let wanted = this.#parked(); wanted.length > 0; wanted = this.#parked()) {
        await this.#hooks.run(wanted)
        await this.#resumed()
      }
    } else {
      while (this.#tasks.length > 0) {
        await this.#runSome()
        await this.#resumed()
      }
      this.#open()
    }
    this.#isAtWork = false
  }

  async #resumed(): Promise<void> {
    if (this.#services.isPaused) await this.#until(() => !this.#services.isPaused)
  }

  /** Runs the next group. */
  async #runSome(): Promise<void> {
    const { run, isLast } = this.#hooks
    this.#closedAt ??= this.#services.clock.monotonic()
    await this.#until(() => this.#executor.claimed === 0, RETRY_TIMES.quietMs)
    const group = this.#takeGroup()
    if (group.length === 0) return
    this.#count = group.length
    this.#services.observe({ type: 'apart', keys: group.map(({ key }) => key) })
    await run(group)
    const atMostMs = group.some(isLast) ? undefined : RETRY_TIMES.quietMs
    const haveEnded = await this.#until(() => !group.some((task) => task.state === 'claimed'), atMostMs)
    if (haveEnded) return
    // The group goes on. Others get as much time as they have waited.
    this.#open()
    await this.#until(() => false, RETRY_TIMES.quietMs)
  }

  #open(): void {
    this.#closedAt = undefined
    this.#count = 0
    this.#hooks.onOpen()
  }

  /** Tasks that are still ours, to be parked. */
  #parked(): Task[] {
    return this.#take(() => this.#services.consumer.concurrency)
  }

  #takeGroup(): Task[] {
    const free = Math.max(1, this.#services.consumer.concurrency - this.#executor.claimed)
    return this.#take((task) => Math.min(free, this.#hooks.companyOf(task)))
  }

  /** The next tasks that are still ours. Each limits the size of its group. */
  #take(mostOf: (task: Task) => number): Task[] {
    const wanted: Task[] = []
    let most = Number.POSITIVE_INFINITY
    while (wanted.length < most) {
      const [task] = this.#tasks
      if (task === undefined || (wanted.length > 0 && wanted.length >= mostOf(task))) break
      this.#tasks.shift()
      if (task.isCurrent) {
        wanted.push(task)
        most = Math.min(most, mostOf(task))
      } else this.#services.end(task, DROPPED)
    }
    return wanted
  }

  /** Resolves when `isSo()` is true, after `atMostMs`, or when the process stops. The value is `isSo()`. */
  #until(isSo: () => boolean, atMostMs?: DurationMs): Promise<boolean> {
    return new Promise((resolve) => {
      const finish = (): void => {
        cancel?.()
        this.#onFreed = undefined
        resolve(isSo())
      }
      const cancel = atMostMs === undefined ? undefined : this.#services.clock.after(atMostMs, finish)
      this.#onFreed = () => {
        if (isSo() || this.#services.isDraining) finish()
      }
      this.#onFreed()
    })
  }
}
