import { StoreError, systemClock, type DurationMs } from '../../../src/internal.ts'
import { checkWaited, waitCommand, type Waiting } from './durability.ts'
import type { RedisPort } from '../clients/redis-port.ts'
import { runScriptsBefore, type ScriptRun } from './run-script.ts'

interface Queued {
  readonly run: ScriptRun
  readonly resolve: (reply: unknown) => void
  readonly reject: (error: unknown) => void
}

/**
 * Runs scripts whose writes must be durable before their replies count. While one group waits, its connection does
 * nothing else, so scripts that arrive meanwhile form the next group: one wait for all of them.
 */
export class DurableLine {
  readonly #redis: RedisPort
  readonly #waiting: Waiting
  readonly #timeoutMs: DurationMs
  /** Queue of each lane. There is an entry while one of its groups is in flight. */
  readonly #queues = new Map<number, Queued[]>()

  constructor(redis: RedisPort, waiting: Waiting, timeoutMs: DurationMs) {
    this.#redis = redis
    this.#waiting = waiting
    this.#timeoutMs = timeoutMs
  }

  /** @param lane - all keys of one lane are on one primary */
  run(lane: number, run: ScriptRun): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const queued = { run, resolve, reject }
      const queue = this.#queues.get(lane)
      if (queue !== undefined) return void queue.push(queued)
      this.#queues.set(lane, [queued])
      void this.#send(lane)
    })
  }

  async #send(lane: number): Promise<void> {
    // All parts of one batch arrive in one turn of the event loop.
    await Promise.resolve()
    for (let group = this.#take(lane); group.length > 0; group = this.#take(lane)) {
      try {
        const replies = await this.#replies(group.map(({ run }) => run))
        for (const [at, { resolve }] of group.entries()) resolve(replies[at])
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
    this.#queues.delete(lane)
  }

  #take(lane: number): readonly Queued[] {
    return this.#queues.get(lane)?.splice(0) ?? []
  }

  async #replies(runs: readonly ScriptRun[]): Promise<readonly unknown[]> {
    const replies = await this.#inTime(runScriptsBefore(this.#redis, runs, waitCommand(this.#waiting)))
    checkWaited(this.#waiting, replies[runs.length])
    return replies
  }

  /** A client may keep a group for ever; the next group must not wait for it. */
  #inTime<T>(asked: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const late = (): void =>
        reject(new StoreError('STORE_AMBIGUOUS', `Redis: no answer within ${this.#timeoutMs} ms`))
      asked.then(resolve, reject).finally(systemClock.after(this.#timeoutMs, late))
    })
  }
}
