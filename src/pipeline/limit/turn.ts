import { Fifo } from '../intake/fifo.ts'
import type { Lane, Task } from '../task.ts'
import type { KeyQuota } from './key-quota.ts'

/** What waits under one key: first what its provider put off, which had its turn before, then the others. */
export class Turn {
  readonly key: string
  readonly quota: KeyQuota
  readonly #again = new Fifo<Lane | Task>()
  readonly #line = new Fifo<Lane | Task>()

  constructor(key: string, quota: KeyQuota) {
    this.key = key
    this.quota = quota
  }

  get length(): number {
    return this.#again.length + this.#line.length
  }

  *[Symbol.iterator](): Generator<Lane | Task> {
    yield* this.#again
    yield* this.#line
  }

  push(ready: Lane | Task, wasPutOff: boolean): void {
    const line = wasPutOff ? this.#again : this.#line // mutant: limit-put-off-behind-its-key
    line.push(ready)
    this.quota.waiting++
  }

  /** Before all others. */
  putFront(ready: Lane | Task): void {
    const line = this.#again.length > 0 ? this.#again : this.#line
    line.putFront([ready])
    this.quota.waiting++
  }

  shift(): Lane | Task | undefined {
    const ready = this.#again.shift() ?? this.#line.shift()
    if (ready !== undefined) this.quota.waiting--
    return ready
  }

  remove(which: (ready: Lane | Task) => boolean): readonly (Lane | Task)[] {
    const removed = [...this.#again.remove(which), ...this.#line.remove(which)]
    this.quota.waiting -= removed.length
    return removed
  }
}
