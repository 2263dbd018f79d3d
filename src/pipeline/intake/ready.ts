import type { Lane, Task } from '../task.ts'

/** Lanes whose head may be taken, and tasks without a lane. */
export interface Ready {
  /** Those that are ready, whether a limit lets them begin or not. */
  readonly length: number
  /** One may be taken now. */
  readonly hasNext: boolean
  push(ready: Lane | Task): void
  /** Puts those that were shifted, and not taken, before all others. */
  putFront(ready: readonly (Lane | Task)[]): void
  /** The next that may be taken now. */
  shift(): Lane | Task | undefined
  /** Removes and returns all for which `which` is true. */
  remove(which: (ready: Lane | Task) => boolean): (Lane | Task)[]
}

/** As `Ready`, where a task needs a permit to be taken. */
export interface Permitted extends Ready {
  /** A permit for a further task of a lane whose head was shifted, if one is free. */
  mayJoin(task: Task): boolean
  /** No handler of it begins now. Does nothing if it has no permit. */
  giveBack(task: Task): void
}

/** The task that is taken next; `undefined`: a lane that has lost its head since it became ready. */
export function headOf(ready: Lane | Task): Task | undefined {
  if ('queue' in ready) return ready.isReady ? ready.queue[0] : undefined
  return ready
}
