import type { DurationMs } from '../core/units.ts'
import type { Clock } from '../ports/clock.ts'
import type { Task } from './task.ts'

/** The serial queue of one ordering key. */
export interface Lane {
  readonly name: string | undefined
  readonly queue: Task[]
  /** Tasks taken from the lane and not yet finished or put back. The lane gives none while there are any. */
  out: number
  /** Waits for a retry or for another owner. */
  cancelHold: (() => void) | undefined
}

/**
 * The serial queues of the ordering keys. A lane gives its head only when nothing of it is out, so one message of a key
 * runs at a time and a waiting one holds only its own key. A task without a lane has one of its own.
 */
export class Lanes {
  readonly #clock: Clock
  readonly #wake: () => void
  readonly #named = new Map<string, Lane>()
  /** Lanes with a task that is queued, held or out. */
  readonly #all = new Set<Lane>()
  /** Lanes with a head that may be taken now, in the order they became ready. */
  readonly #ready = new Set<Lane>()

  constructor(clock: Clock, wake: () => void) {
    this.#clock = clock
    this.#wake = wake
  }

  get hasReady(): boolean {
    return this.#ready.size > 0
  }

  enqueue(task: Task): void {
    const lane = this.#laneFor(task)
    task.queuedIn = lane
    lane.queue.push(task)
    this.#refresh(lane)
  }

  /** Takes the heads of up to `most` ready lanes. */
  take(most: number): Task[] {
    const taken: Task[] = []
    for (const lane of this.#ready) {
      if (taken.length >= most) break
      const task = lane.queue.shift()
      if (task !== undefined) taken.push(task)
      lane.out = 1
      this.#ready.delete(lane)
    }
    return taken
  }

  /**
   * Takes up to `most` tasks that share one transaction and run in turn: several of one lane, in its order. A task that
   * must be alone comes alone.
   */
  takeBatch(most: number): Task[] {
    const taken: Task[] = []
    for (const lane of this.#ready) {
      if (taken.length >= most) break
      if (lane.queue[0]?.alone === true) {
        if (taken.length > 0) continue
        lane.out = 1
        this.#ready.delete(lane)
        return lane.queue.splice(0, 1)
      }
      const firstAlone = lane.queue.findIndex((task) => task.alone || task.isBlocked)
      const together = firstAlone === -1 ? lane.queue.length : firstAlone
      const tasks = lane.queue.splice(0, Math.min(together, most - taken.length))
      lane.out = tasks.length
      this.#ready.delete(lane)
      taken.push(...tasks)
    }
    return taken
  }

  /** What it waited for in another lane, or before it in this one, has ended. */
  unblock(task: Task): void {
    task.isBlocked = false
    if (task.queuedIn !== undefined) this.#refresh(task.queuedIn)
  }

  /** A task that is out is over; the next of its lane may go. */
  finish(task: Task): void {
    const lane = task.queuedIn
    if (lane === undefined) return
    task.queuedIn = undefined
    lane.out--
    if (lane.queue.length === 0 && lane.out === 0) this.#drop(lane)
    else this.#refresh(lane)
  }

  /** Takes every queued task that `which` names out of its lane, held lanes included. What is out stays out. */
  removeQueued(which: (task: Task) => boolean): Task[] {
    const removed: Task[] = []
    for (const lane of this.#all) {
      const kept = lane.queue.filter((task) => !which(task))
      if (kept.length === lane.queue.length) continue
      removed.push(...lane.queue.filter(which))
      lane.queue.splice(0, lane.queue.length, ...kept)
      if (lane.queue.length === 0 && lane.out === 0) this.#drop(lane)
      else this.#refresh(lane)
    }
    for (const task of removed) task.queuedIn = undefined
    return removed
  }

  /** Puts tasks of a batch back to the front of their lanes, in order; ready after `delayMs`. */
  putBack(tasks: readonly Task[], delayMs: DurationMs = 0): void {
    for (const task of tasks.toReversed()) {
      const lane = task.queuedIn
      if (lane === undefined) continue
      lane.queue.unshift(task)
      lane.out--
    }
    for (const task of tasks) {
      const lane = task.queuedIn
      if (lane === undefined) continue
      if (delayMs > 0) this.#hold(lane, delayMs)
      else this.#refresh(lane)
    }
  }

  #laneFor(task: Task): Lane {
    const existing = task.lane === undefined ? undefined : this.#named.get(task.lane)
    if (existing !== undefined) return existing
    const lane: Lane = { name: task.lane, queue: [], out: 0, cancelHold: undefined }
    this.#all.add(lane)
    if (task.lane !== undefined) this.#named.set(task.lane, lane)
    return lane
  }

  #hold(lane: Lane, delayMs: DurationMs): void {
    lane.cancelHold?.()
    this.#ready.delete(lane)
    lane.cancelHold = this.#clock.after(delayMs, () => {
      lane.cancelHold = undefined
      this.#refresh(lane)
    })
  }

  #refresh(lane: Lane): void {
    if (lane.out > 0 || lane.queue.length === 0 || lane.cancelHold !== undefined) return
    // Its head may have been another one a moment ago.
    if (lane.queue[0]?.isBlocked === true) return void this.#ready.delete(lane)
    this.#ready.add(lane)
    this.#wake()
  }

  #drop(lane: Lane): void {
    lane.cancelHold?.()
    lane.cancelHold = undefined
    this.#ready.delete(lane)
    this.#all.delete(lane)
    if (lane.name !== undefined) this.#named.delete(lane.name)
  }
}
