import type { DurationMs } from '../core/units.ts'
import type { Clock } from '../ports/clock.ts'
import { Fifo } from './fifo.ts'
import { Task } from './task.ts'

/** The serial queue of one ordering key, or of one task without a key that has to wait. */
export interface Lane {
  readonly name: string | undefined
  /** Usually of length one. Built by assignment, because `push` on an empty array reserves room for many. */
  queue: Task[]
  /** Tasks taken from the lane and not yet finished or put back. The lane gives no task while there are any. */
  out: number
  /** Its head may be taken. */
  isReady: boolean
  /** Set while the lane waits for a retry or for another owner. */
  cancelHold: (() => void) | undefined
}

/**
 * The serial queues of the ordering keys. A lane gives its head only when none of its tasks is out: one message of a
 * key runs at a time, and a waiting one holds up only its own key. A task without a key has no lane until it has to
 * wait, which most never do.
 */
export class Lanes {
  readonly #clock: Clock
  readonly #wake: () => void
  readonly #named = new Map<string, Lane>()
  /** Lanes of tasks without a key that have to wait, or had to. */
  readonly #private = new Set<Lane>()
  /** Lanes whose head may be taken now, and tasks without a lane, in the order in which they became ready. */
  readonly #ready = new Fifo<Lane | Task>()

  constructor(clock: Clock, wake: () => void) {
    this.#clock = clock
    this.#wake = wake
  }

  get hasReady(): boolean {
    return this.#ready.length > 0
  }

  enqueue(task: Task): void {
    if (task.lane === undefined && !task.isBlocked) {
      this.#ready.push(task)
      return this.#wake()
    }
    const lane = this.#laneFor(task)
    task.queuedIn = lane
    if (lane.queue.length === 0) lane.queue = [task]
    else lane.queue.push(task)
    this.#refresh(lane)
  }

  /** Takes the heads of up to `most` ready lanes. */
  take(most: number): Task[] {
    const taken: Task[] = []
    while (taken.length < most) {
      const ready = this.#ready.shift()
      if (ready === undefined) break
      const task = ready instanceof Task ? ready : takeHead(ready)
      if (task === undefined) continue
      task.isOut = true
      taken.push(task)
    }
    return taken
  }

  /**
   * Takes tasks for one transaction, where they run one after the other: possibly several of one lane, in its order.
   * `companyOf` limits the batch size for each task. Tasks with earlier attempts are not mixed with tasks without.
   */
  takeBatch(companyOf: (task: Task) => number): Task[] {
    const taken: Task[] = []
    const later: (Lane | Task)[] = []
    let most = Number.POSITIVE_INFINITY
    const mayJoin = (task: Task): boolean => {
      const [first = task] = taken
      return taken.length < companyOf(task) && task.attempts > 0 === first.attempts > 0
    }
    while (taken.length < most) {
      const ready = this.#ready.shift()
      if (ready === undefined) break
      if (!isReady(ready)) continue
      const heads = ready instanceof Task ? [ready] : ready.queue
      let count = 0
      for (const task of heads) {
        if (task.isBlocked || taken.length >= most || !mayJoin(task)) break
        taken.push(task)
        most = Math.min(most, companyOf(task))
        count++
      }
      if (count === 0 && heads[0]?.isBlocked === false) later.push(ready)
      else if (!(ready instanceof Task)) leave(ready, count)
    }
    this.#ready.putFront(later)
    for (const task of taken) task.isOut = true
    return taken
  }

  /** The task that blocked it, in another lane or before it in this one, has ended. */
  unblock(task: Task): void {
    task.isBlocked = false
    if (task.queuedIn !== undefined) this.#refresh(task.queuedIn)
  }

  /** A task that was out has ended; the next of its lane may be taken. */
  finish(task: Task): void {
    const lane = task.queuedIn
    task.isOut = false
    if (lane === undefined) return
    task.queuedIn = undefined
    lane.out--
    if (lane.queue.length === 0 && lane.out === 0) this.#drop(lane)
    else this.#refresh(lane)
  }

  /**
   * Removes every queued task for which `which` is true, in held lanes too; tasks that are out stay out. It is a
   * generator that visits one lane after the other, because there may be tens of thousands. Between two steps tasks may
   * be taken and end, but none may be added.
   */
  *removeQueued(which: (task: Task) => boolean): Generator<Task> {
    yield* this.#ready.remove((ready) => ready instanceof Task && which(ready)) as Task[]
    for (const lanes of [this.#named, this.#private]) {
      for (const lane of lanes.values()) yield* this.#removeFrom(lane, which)
    }
    this.#ready.remove((ready) => !isReady(ready))
  }

  #removeFrom(lane: Lane, which: (task: Task) => boolean): readonly Task[] {
    const [kept, removed]: [Task[], Task[]] = [[], []]
    for (const task of lane.queue) (which(task) ? removed : kept).push(task)
    if (removed.length === 0) return removed
    lane.queue = kept
    for (const task of removed) task.queuedIn = undefined
    if (kept.length === 0 && lane.out === 0) this.#drop(lane)
    else this.#refresh(lane)
    return removed
  }

  /** Puts tasks of a batch back to the front of their lanes, in order. They are ready after `delayMs`. */
  putBack(tasks: readonly Task[], delayMs: DurationMs = 0): void {
    for (const task of tasks.toReversed()) {
      if (!task.isOut) continue
      task.isOut = false
      if (task.queuedIn === undefined) task.queuedIn = this.#laneFor(task)
      else task.queuedIn.out--
      task.queuedIn.queue = [task, ...task.queuedIn.queue]
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
    const lane: Lane = { name: task.lane, queue: NONE, out: 0, isReady: false, cancelHold: undefined }
    if (task.lane === undefined) this.#private.add(lane)
    else this.#named.set(task.lane, lane)
    return lane
  }

  #hold(lane: Lane, delayMs: DurationMs): void {
    lane.cancelHold?.()
    lane.cancelHold = this.#clock.after(delayMs, () => {
      lane.cancelHold = undefined
      this.#refresh(lane)
    })
  }

  #refresh(lane: Lane): void {
    if (lane.out > 0 || lane.queue.length === 0 || lane.cancelHold !== undefined) return
    // The head may have changed a moment ago.
    if (lane.queue[0]?.isBlocked === true) {
      lane.isReady = false
      return
    }
    if (!lane.isReady) this.#ready.push(lane)
    lane.isReady = true
    this.#wake()
  }

  #drop(lane: Lane): void {
    lane.cancelHold?.()
    lane.cancelHold = undefined
    lane.isReady = false
    if (lane.name === undefined) this.#private.delete(lane)
    else this.#named.delete(lane.name)
  }
}

/** A lane may have lost its head since it became ready. */
function isReady(ready: Lane | Task): boolean {
  return ready instanceof Task || ready.isReady
}

function takeHead(lane: Lane): Task | undefined {
  if (!lane.isReady) return undefined
  lane.isReady = false
  lane.out = 1
  return lane.queue.shift()
}

/** Removes the first tasks of the lane, which are now out. */
function leave(lane: Lane, count: number): void {
  lane.queue.splice(0, count)
  lane.isReady = false
  lane.out = count
}

/** Shared, never pushed to. */
const NONE: Task[] = []
Object.freeze(NONE)
