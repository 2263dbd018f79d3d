import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import type { RunOptions } from './plan.ts'
import { EFFECTS } from './worker-settings.ts'

const LOOK_EVERY_MS = 100
/** A soak may fall behind by this much of its pace. */
const BACKLOG_MS = 10_000

/**
 * Keeps faults and messages together: a fault waits until its share of the messages has been handled, and messages wait for
 * the faults that are due, so that every fault meets work in flight. Those of a soak wait for their time, too, and for those
 * before them: what comes again must find its record, and on a slow machine a backlog would outlast its retention.
 */
export class Pace {
  readonly #messages: number
  readonly #window: number
  readonly #perMs: number
  readonly #backlog: number
  readonly #begunAt = performance.now()
  readonly #pool: Pool
  readonly #signal: AbortSignal
  /** Share of the messages at which each lane of faults is; 1 when it is through. */
  readonly #lanes = new Map<string, number>()
  #handled = 0

  constructor({ messages, soak }: Pick<RunOptions, 'messages' | 'soak'>, pool: Pool, signal: AbortSignal) {
    this.#messages = messages
    this.#perMs = soak === undefined ? Number.POSITIVE_INFINITY : messages / (soak.minutes * 60_000)
    this.#backlog = Math.max(1_000, this.#perMs * BACKLOG_MS)
    this.#window = Math.max(1_000, Math.ceil(messages * 0.05))
    this.#pool = pool
    this.#signal = signal
  }

  /** How far it got, for people. */
  toString(): string {
    const lanes = [...this.#lanes].map(([lane, at]) => `${lane} ${Math.round(at * 100)}%`)
    return `${this.#handled} of ${this.#messages} handled, ${lanes.join(', ')}`
  }

  /**
   * Asks Postgres for the number of effects, until the run ends. Those that were rolled back count as well: it is one
   * look at a sequence, however many there are.
   */
  async watch(until: AbortSignal): Promise<void> {
    while (!until.aborted) {
      const { rows } = await this.#pool.query<{ handled: number }>(
        `select case when is_called then last_value else 0 end::int as handled from ${EFFECTS}_number_seq`,
      )
      this.#handled = rows[0]?.handled ?? 0
      await sleep(LOOK_EVERY_MS)
    }
  }

  enter(lane: string): void {
    this.#lanes.set(lane, 0)
  }

  /** Resolves when the lane may inject the fault planned for this share of the messages. */
  async reach(lane: string, at: number): Promise<void> {
    this.#lanes.set(lane, at)
    await this.#until(() => this.#handled >= at * this.#messages)
  }

  leave(lane: string): void {
    this.#lanes.set(lane, 1)
  }

  /** Resolves when the message of that number may be sent. */
  async maySend(number: number): Promise<void> {
    await this.#until(() => {
      const isDue = number < (performance.now() - this.#begunAt + LOOK_EVERY_MS) * this.#perMs
      const isNear = number < this.#handled + this.#backlog
      return isDue && isNear && number < Math.min(1, ...this.#lanes.values()) * this.#messages + this.#window
    })
  }

  async #until(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      this.#signal.throwIfAborted()
      await sleep(LOOK_EVERY_MS / 2)
    }
    this.#signal.throwIfAborted()
  }
}
