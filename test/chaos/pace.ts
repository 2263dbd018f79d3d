import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import { EFFECTS } from './worker-settings.ts'

const LOOK_EVERY_MS = 100

/**
 * Keeps faults and messages together: a fault waits until its share of the messages has been handled, and messages wait for
 * the faults that are due, so that every fault meets work in flight.
 */
export class Pace {
  readonly #messages: number
  readonly #window: number
  readonly #pool: Pool
  readonly #signal: AbortSignal
  /** Share of the messages at which each lane of faults is; 1 when it is through. */
  readonly #lanes = new Map<string, number>()
  #handled = 0

  constructor(messages: number, pool: Pool, signal: AbortSignal) {
    this.#messages = messages
    this.#window = Math.max(1_000, Math.ceil(messages * 0.05))
    this.#pool = pool
    this.#signal = signal
  }

  /** How far it got, for people. */
  toString(): string {
    const lanes = [...this.#lanes].map(([lane, at]) => `${lane} ${Math.round(at * 100)}%`)
    return `${this.#handled} of ${this.#messages} handled, ${lanes.join(', ')}`
  }

  /** Asks Postgres for the number of effects, until the run ends. */
  async watch(until: AbortSignal): Promise<void> {
    while (!until.aborted) {
      const { rows } = await this.#pool.query<{ handled: number }>(`select count(*)::int as handled from ${EFFECTS}`)
      this.#handled = rows[0]?.handled ?? 0
      await sleep(LOOK_EVERY_MS)
    }
  }

  enter(lane: string): void {
    this.#lanes.set(lane, 0)
  }

  /** Resolves when the lane may do what is planned for this share of the messages. */
  async reach(lane: string, at: number): Promise<void> {
    this.#lanes.set(lane, at)
    await this.#until(() => this.#handled >= at * this.#messages)
  }

  leave(lane: string): void {
    this.#lanes.set(lane, 1)
  }

  /** Resolves when the message of that number may be sent. */
  async maySend(number: number): Promise<void> {
    await this.#until(() => number < Math.min(1, ...this.#lanes.values()) * this.#messages + this.#window)
  }

  async #until(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      this.#signal.throwIfAborted()
      await sleep(LOOK_EVERY_MS / 2)
    }
    this.#signal.throwIfAborted()
  }
}
