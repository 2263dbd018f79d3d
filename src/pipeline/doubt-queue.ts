import { DEFAULTS } from '../defaults.ts'
import type { Desk } from './runner.ts'
import type { Slots } from './slots.ts'
import type { Task } from './task.ts'

interface DoubtHooks {
  /** What this process has claimed. */
  readonly slots: Slots
  readonly claim: (tasks: readonly Task[]) => Promise<void>
  readonly onOpen: () => void
}

/**
 * Messages in doubt. One of them may be what killed the process, so none runs beside others: the claim gate closes until
 * the process holds no other claim, or for `quietMs`, then they are claimed and run one at a time, each attempt counted
 * just before its own start. To park them needs no quiet: no handler runs.
 */
export class DoubtQueue {
  readonly #desk: Desk
  readonly #hooks: DoubtHooks
  #tasks: Task[] = []
  #isGateClosed = false
  #onFreed: (() => void) | undefined

  constructor(desk: Desk, hooks: DoubtHooks) {
    this.#desk = desk
    this.#hooks = hooks
  }

  get isGateOpen(): boolean {
    return !this.#isGateClosed
  }

  add(task: Task): void {
    if (this.#desk.isDraining) return this.#desk.drop(task)
    this.#tasks.push(task)
    // After this turn: one batch of claims may answer with many doubts.
    if (this.#tasks.length === 1) this.#desk.clock.nextTurn(() => void this.#run())
  }

  /** A handler slot became free: the process may be quiet now. */
  slotsFreed(): void {
    this.#onFreed?.()
  }

  drain(): void {
    for (const task of this.#tasks.splice(0)) this.#desk.drop(task)
    this.#onFreed?.()
  }

  async #run(): Promise<void> {
    if (this.#isGateClosed) return
    if (this.#desk.consumer.onInDoubt === 'park') {
      for (let wanted = this.#take(); wanted.length > 0; wanted = this.#take()) await this.#hooks.claim(wanted)
      return
    }
    this.#isGateClosed = true
    await this.#until(() => this.#hooks.slots.taken === 0, DEFAULTS.quietMs)
    for (let wanted = this.#take(1); wanted.length > 0; wanted = this.#take(1)) {
      await this.#hooks.claim(wanted)
      await this.#until(() => !wanted.some((task) => this.#hooks.slots.has(task)))
    }
    this.#isGateClosed = false
    this.#hooks.onOpen()
  }

  /** The next ones that are still ours. */
  #take(most: number = this.#desk.consumer.concurrency): Task[] {
    const wanted: Task[] = []
    while (wanted.length < most) {
      const task = this.#tasks.shift()
      if (task === undefined) break
      if (task.isCurrent) wanted.push(task)
      else this.#desk.drop(task)
    }
    return wanted
  }

  #until(condition: () => boolean, atMostMs?: number): Promise<void> {
    return new Promise((resolve) => {
      const finish = (): void => {
        cancel?.()
        this.#onFreed = undefined
        resolve()
      }
      const cancel = atMostMs === undefined ? undefined : this.#desk.clock.after(atMostMs, finish)
      this.#onFreed = () => {
        if (condition() || this.#desk.isDraining) finish()
      }
      this.#onFreed()
    })
  }
}
