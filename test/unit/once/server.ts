import { afterEach } from '@jest/globals'
import { once, type Once, type OnceContext, type OnceOptions } from '../../../src/index.ts'
import { memoryStore } from '../../../src/memory/index.ts'
import type { LeaseStore, MessageRecord } from '../../../src/internal.ts'
import { ManualClock } from '../../kit/manual-clock.ts'
import { scriptedStore, type ScriptedStore } from '../../kit/scripted-store.ts'

export const clocks: ManualClock[] = []

afterEach(async () => {
  for (const clock of clocks.splice(0)) {
    // The last tick of the leases.
    await clock.advance(1_000)
    if (clock.pending > 0) throw new Error(`${clock.pending} timers left`)
  }
})

/** Processes on one store in memory; each has its own instance of the store. */
export class Server {
  readonly clock: ManualClock = new ManualClock()
  readonly #records = new Map<string, MessageRecord>()

  constructor() {
    clocks.push(this.clock)
  }

  process(): Process {
    return new Process(memoryStore({ clock: this.clock, records: this.#records }), this.clock)
  }

  /** Runs all timers until the call has ended. */
  async settled<T>(call: Promise<T>): Promise<T> {
    const state = { isOver: false }
    const over = (): void => {
      state.isOver = true
    }
    call.then(over, over)
    for (let step = 0; step < 400 && !state.isOver; step++) await this.clock.advance(200)
    await this.clock.advance(1_000)
    return call
  }
}

export class Process {
  readonly store: ScriptedStore<never> & LeaseStore
  readonly #clock: ManualClock

  constructor(store: LeaseStore, clock: ManualClock) {
    this.store = scriptedStore(store) as ScriptedStore<never> & LeaseStore
    this.#clock = clock
  }

  once<T>(key: string, fn: (context: OnceContext) => T | Promise<T>, options: OnceOptions<T> = {}): Promise<Once<T>> {
    return once(this.store, key, fn, { clock: this.#clock, purge: 'never', ...options })
  }
}

export type Counted<T> = { calls: number } & (() => T)

/** `work` counts how often it was called. */
export function counted<A extends unknown[], T>(work: (...args: A) => T): ((...args: A) => T) & { calls: number } {
  const counting = Object.assign(
    (...args: A): T => {
      counting.calls++
      return work(...args)
    },
    { calls: 0 },
  )
  return counting
}
