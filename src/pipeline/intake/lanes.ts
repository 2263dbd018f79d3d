import type { DurationMs } from '../../core/units.ts'
import { PassingMap } from '../../foundation/passing-map.ts'
import type { Clock } from '../../ports/clock.ts'
import { Fifo } from './fifo.ts'
import type { Permitted, Ready } from './ready.ts'
import { Task, type Lane } from '../task.ts'

/**
 * The serial queues of the ordering keys. A lane gives its head only when none of its tasks is out: one message of a
 * key runs at a time, and a waiting one holds up only its own key. A task without a key has no lane until it has to
 * wait, which most never do.
 */
export class Lanes {
  readonly #clock: Clock
  readonly #wake: () => void
  readonly #named = new PassingMap<string | number, Lane>()
  /** Lanes of tasks without a key that have to wait, or had to. */
  readonly #private = new Set<Lane>()
  /** Gives nothing. */
  isHeld = false
  /** How many tasks may be taken from now on. */
  allowance: number = Number.POSITIVE_INFINITY
  #order = 0
  /** Lanes whose head may be taken now, and tasks without a lane, in the order in which they became ready. */
  readonly #ready: Ready
  /** `undefined`: all that is ready may begin. */
  readonly #limiter: Permitted | undefined

  constructor(clock: Clock, wake: () => void, limiter?: Permitted) {
    this.#clock = clock
    this.#wake = wake
    this.#limiter = limiter
    this.#ready = limiter ?? new Fifo<Lane | Task>()
  }

  /** Lanes and tasks that are ready. A limit may let fewer of them begin now. */
  get ready(): number {
    return this.#ready.length
  }

  get hasReady(): boolean {
    return !this.isHeld && this.allowance > 0 && this.#ready.hasNext
  }

  enqueue(task: Task): void {
    task.order = this.#order++
    if (task.state === 'arrived') task.move('queued')
    if (task.lane === undefined && task.state === 'queued') {
      this.#ready.push(task)
      return this.#wake()
    }
    const lane = this.#laneFor(task)
    task.queuedIn = lane
    if (lane.queue.length === 0) lane.queue = [task]
    else lane.queue.push(task)
    this.#refresh(lane)
  }

  /** A message that never ran has its turn before those that failed, if one is ready. */
  untriedFirst(): void {
    let isFound = false
    const first = this.#ready.remove((ready) => {
      const head = ready instanceof Task ? ready : ready.isReady ? ready.queue[0] : undefined
      if (isFound || head === undefined) return false
      isFound = head.history.kind === 'untried' && head.state === 'queued'
      return isFound
    })
    this.#ready.putFront(first)
  }

  /** Takes the heads of up to `most` ready lanes. */
  take(most: number): Task[] {
    const taken: Task[] = []
    while (taken.length < Math.min(most, this.allowance) && !this.isHeld) {
      const ready = this.#ready.shift()
      if (ready === undefined) break
      const task = ready instanceof Task ? ready : takeHead(ready)
      if (task === undefined) continue
      task.move('taken')
      taken.push(task)
    }
    this.allowance -= taken.length
    return taken
  }

  /**
   * Takes tasks for one transaction, where they run one after the other: possibly several of one lane, in its order, but
   * of at most `lanes` lanes. `companyOf` limits the batch size for each task. Tasks with earlier attempts are not mixed
   * with tasks without.
   */
  takeBatch(companyOf: (task: Task) => number, lanes: number): Task[] {
    const taken: Task[] = []
    const later: (Lane | Task)[] = []
    let most = this.allowance
    let left = lanes
    const mayJoin = (task: Task): boolean => {
      const [first = task] = taken
      return taken.length < companyOf(task) && (task.history.kind === 'untried') === (first.history.kind === 'untried')
    }
    while (taken.length < most && left > 0 && !this.isHeld) {
      const ready = this.#ready.shift()
      if (ready === undefined) break
      if (!isReady(ready)) continue
      const heads = ready instanceof Task ? [ready] : ready.queue
      let count = 0
      for (const task of heads) {
        if (task.state === 'blocked' || taken.length >= most || !mayJoin(task)) break
        if (count > 0 && this.#limiter?.mayJoin(task) === false) break
        taken.push(task)
        most = Math.min(most, companyOf(task))
        count++
      }
      if (count > 0) left--
      if (count === 0 && heads[0] !== undefined) this.#limiter?.giveBack(heads[0])
      if (count === 0 && heads[0]?.state === 'queued') later.push(ready)
      else if (!(ready instanceof Task)) leave(ready, count)
    }
    this.#ready.putFront(later)
    for (const task of taken) task.move('taken')
    this.allowance -= taken.length
    return taken
  }

  /** The task that blocked it, in another lane or before it in this one, has ended. */
  unblock(task: Task): void {
    if (task.state === 'blocked') task.move('queued')
    if (task.queuedIn !== undefined) this.#refresh(task.queuedIn)
  }

  /** A task that was out has ended; the next of its lane may be taken. */
  finish(task: Task): void {
    this.#limiter?.giveBack(task)
    const lane = task.queuedIn
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
    for (const [, lane] of this.#named) yield* this.#removeFrom(lane, which)
    for (const lane of this.#private) yield* this.#removeFrom(lane, which)
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

  /** Puts a task that was out back to its place in its lane. It is ready after `delayMs`. */
  putBack(task: Task, delayMs: DurationMs = 0): void {
    if (!task.move('queued')) return
    this.#limiter?.giveBack(task)
    if (task.queuedIn !== undefined) task.queuedIn.out--
    const lane = (task.queuedIn ??= this.#laneFor(task))
    // Others of its batch may be back already.
    const at = lane.queue.findIndex(({ order }) => order > task.order)
    lane.queue = lane.queue.toSpliced(at === -1 ? lane.queue.length : at, 0, task)
    if (delayMs > 0) this.#hold(lane, delayMs)
    else this.#refresh(lane)
  }

  #laneFor(task: Task): Lane {
    const existing = task.lane === undefined ? undefined : this.#named.get(task.lane)
    if (existing !== undefined) return existing
    const lane: Lane = { name: task.lane, queue: NONE, out: 0, isReady: false, cancelHold: undefined }
    if (task.lane === undefined) this.#private.add(lane)
    else this.#named.add(task.lane, lane)
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
    if (lane.queue[0]?.state === 'blocked') {
      lane.isReady = false
      return
    }
    if (!lane.isReady) {
      lane.isReady = true
      this.#ready.push(lane)
    }
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
