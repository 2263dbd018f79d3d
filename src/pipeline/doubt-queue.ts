import type { DurationMs, MonotonicMs } from '../core/units.ts'
import { DEFAULTS } from '../defaults.ts'
import type { Desk } from './runner.ts'
import type { Slots } from './slots.ts'
import type { Task } from './task.ts'

interface DoubtHooks {
  /** Tasks that this process has claimed. */
  readonly slots: Slots
  /** How many tasks may run together with this one. */
  readonly companyOf: (task: Task) => number
  /** The task has one attempt left: nothing else begins before it has ended. */
  readonly isLast: (task: Task) => boolean
  readonly claim: (tasks: readonly Task[]) => Promise<void>
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
  readonly #desk: Desk
  readonly #hooks: DoubtHooks
  #tasks: Task[] = []
  #isAtWork = false
  #closedAt: MonotonicMs | undefined
  /** Number of tasks in the group that the gate is closed for. */
  #count = 0
  #onFreed: (() => void) | undefined

  constructor(desk: Desk, hooks: DoubtHooks) {
    this.#desk = desk
    this.#hooks = hooks
  }

  get isGateOpen(): boolean {
    return this.#closedAt === undefined
  }

  /** `undefined`: nothing waits for a group. */
  get apart(): Apart | undefined {
    if (this.#closedAt === undefined) return undefined
    return { count: this.#count, sinceMs: this.#desk.clock.monotonic() - this.#closedAt }
  }

  add(task: Task): void {
    if (this.#desk.isDraining) return this.#desk.drop(task)
    this.#tasks.push(task)
    // Wait for the end of this turn: one batch of claims may find many messages in doubt.
    if (this.#tasks.length === 1) this.#desk.clock.nextTurn(() => void this.#run())
  }

  /** A handler slot became free, so the process may be quiet now. */
  slotsFreed(): void {
    this.#onFreed?.()
  }

  drain(): void {
    for (const task of this.#tasks.splice(0)) this.#desk.drop(task)
    this.#onFreed?.()
  }

  async #run(): Promise<void> {
    if (this.#isAtWork) return
    this.#isAtWork = true
    if (this.#desk.consumer.onInDoubt === 'park') {
      for (let wanted = this.#parked(); wanted.length > 0; wanted = this.#parked()) await this.#hooks.claim(wanted)
    } else {
      while (this.#tasks.length > 0) await this.#runSome()
      this.#open()
    }
    this.#isAtWork = false
  }

  /** Runs the next group. */
  async #runSome(): Promise<void> {
    const { slots, claim, isLast } = this.#hooks
    this.#closedAt ??= this.#desk.clock.monotonic()
    await this.#until(() => slots.taken === 0, DEFAULTS.quietMs)
    const group = this.#takeGroup()
    if (group.length === 0) return
    this.#count = group.length
    this.#desk.observe({ type: 'apart', keys: group.map(({ key }) => key) })
    await claim(group)
    const atMostMs = group.some(isLast) ? undefined : DEFAULTS.quietMs
    const haveEnded = await this.#until(() => !group.some((task) => slots.has(task)), atMostMs)
    if (haveEnded) return
    // The group goes on. Others get as much time as they have waited.
    this.#open()
    await this.#until(() => false, DEFAULTS.quietMs)
  }

  #open(): void {
    this.#closedAt = undefined
    this.#count = 0
    this.#hooks.onOpen()
  }

  /** Tasks that are still ours, to be parked. */
  #parked(): Task[] {
    return this.#take(() => this.#desk.consumer.concurrency)
  }

  #takeGroup(): Task[] {
    const { slots, companyOf } = this.#hooks
    const free = Math.max(1, this.#desk.consumer.concurrency - slots.taken)
    return this.#take((task) => Math.min(free, companyOf(task)))
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
      } else this.#desk.drop(task)
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
      const cancel = atMostMs === undefined ? undefined : this.#desk.clock.after(atMostMs, finish)
      this.#onFreed = () => {
        if (isSo() || this.#desk.isDraining) finish()
      }
      this.#onFreed()
    })
  }
}
