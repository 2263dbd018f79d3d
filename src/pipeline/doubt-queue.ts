import type { DurationMs, MonotonicMs } from '../core/units.ts'
import { DEFAULTS } from '../defaults.ts'
import type { Desk } from './runner.ts'
import type { Slots } from './slots.ts'
import type { Task } from './task.ts'

interface DoubtHooks {
  /** What this process has claimed. */
  readonly slots: Slots
  /** How many may run together with it. */
  readonly companyOf: (task: Task) => number
  /** It has one attempt left: nothing else begins before it has ended. */
  readonly isLast: (task: Task) => boolean
  readonly claim: (tasks: readonly Task[]) => Promise<void>
  readonly onOpen: () => void
}

/** What holds up everything else, and since when. */
export interface Apart {
  readonly count: number
  readonly sinceMs: DurationMs
}

/**
 * Messages that may be what killed a process, and run apart from others: under a lease those in doubt, of an inbox those in their last
 * attempt. The claim gate closes until the process holds no other claim, or for `quietMs`; then they are claimed and run, as
 * many at once as their attempts allow. It opens when they have ended, and for all but a last attempt when they have run for
 * `quietMs`: what kills a process at once has done so by then, and what is merely slow holds up nobody. To park them needs no
 * quiet: no handler runs.
 */
export class DoubtQueue {
  readonly #desk: Desk
  readonly #hooks: DoubtHooks
  #tasks: Task[] = []
  #isAtWork = false
  #closedAt: MonotonicMs | undefined
  /** Of the group that the gate is closed for. */
  #count = 0
  #onFreed: (() => void) | undefined

  constructor(desk: Desk, hooks: DoubtHooks) {
    this.#desk = desk
    this.#hooks = hooks
  }

  get isGateOpen(): boolean {
    return this.#closedAt === undefined
  }

  /** `undefined`: nothing waits for them. */
  get apart(): Apart | undefined {
    if (this.#closedAt === undefined) return undefined
    return { count: this.#count, sinceMs: this.#desk.clock.monotonic() - this.#closedAt }
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

  /** The next that may run together. */
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
    // Others get as much time as they have waited for.
    this.#open()
    await this.#until(() => false, DEFAULTS.quietMs)
  }

  #open(): void {
    this.#closedAt = undefined
    this.#count = 0
    this.#hooks.onOpen()
  }

  /** Those that are still ours and to be parked. */
  #parked(): Task[] {
    return this.#take(() => this.#desk.consumer.concurrency)
  }

  #takeGroup(): Task[] {
    const { slots, companyOf } = this.#hooks
    const free = Math.max(1, this.#desk.consumer.concurrency - slots.taken)
    return this.#take((task) => Math.min(free, companyOf(task)))
  }

  /** The next ones that are still ours, each in company of at most so many. */
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

  /** Resolves with whether it is so, at the latest after `atMostMs`, or when the process stops. */
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
