import type { DurationMs } from '../../core/units.ts'
import type { HandlerResult } from '../../core/after-run.ts'
import type { Message } from '../../ports/message.ts'
import type { Counts, StepDurations, StoreOperation } from '../../ports/observer.ts'

/** Calls those of several observers. It never throws. */
export class AllCounts implements Counts {
  readonly #all: readonly Counts[]
  readonly #onThrow: (error: unknown) => void

  constructor(all: readonly Counts[], onThrow: (error: unknown) => void) {
    this.#all = all
    this.#onThrow = onThrow
  }

  handled(message: Message, steps: StepDurations | undefined, endToEndMs: DurationMs | undefined): void {
    for (const one of this.#all) {
      try {
        one.handled(message, steps, endToEndMs)
      } catch (error) {
        this.#onThrow(error)
      }
    }
  }

  settled(durationMs: DurationMs): void {
    for (const one of this.#all) {
      try {
        one.settled(durationMs)
      } catch (error) {
        this.#onThrow(error)
      }
    }
  }

  ran(result: HandlerResult, durationMs: DurationMs): void {
    for (const one of this.#all) {
      try {
        one.ran(result, durationMs)
      } catch (error) {
        this.#onThrow(error)
      }
    }
  }

  called(operation: StoreOperation, count: number, durationMs: DurationMs, error: unknown): void {
    for (const one of this.#all) {
      try {
        one.called(operation, count, durationMs, error)
      } catch (thrown) {
        this.#onThrow(thrown)
      }
    }
  }
}
