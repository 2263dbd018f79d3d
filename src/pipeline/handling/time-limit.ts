import { durationText } from '../../core/duration-text.ts'
import { LeaseLostError } from '../../foundation/errors.ts'
import type { Services } from '../services.ts'
import type { TimedRun } from './timed-run.ts'

/** Watches the time of the handlers of one transaction, which run one after the other, with one timer. */
export class TimeLimit {
  readonly #services: Services
  #run: TimedRun | undefined
  #cancel: (() => void) | undefined
  #onStuck: (() => void) | undefined
  #isOver = false

  constructor(services: Services) {
    this.#services = services
  }

  /**
   * Begins a run and resolves with its end. Resolves with `undefined` if the handler is past its timeout and ignores
   * its signal, or if nobody waits any more. It uses one promise for each run: `Promise.race` would need three, and
   * keep one until the transaction ends.
   */
  wait<T>(run: TimedRun, begin: (onEnd: (end: T) => void) => void): Promise<T | undefined> {
    this.#run = run
    this.#cancel ??= this.#services.clock.after(this.#services.consumer.handlerTimeoutMs, () => this.#look())
    return new Promise((resolve) => {
      this.#onStuck = () => resolve(undefined)
      begin(resolve)
      if (this.#isOver) resolve(undefined)
    })
  }

  giveUp(): void {
    this.#isOver = true
    this.#onStuck?.()
  }

  end(): void {
    this.#run = undefined
    this.#cancel?.()
  }

  #look(): void {
    const run = this.#run
    if (run === undefined) return
    const { clock, consumer } = this.#services
    const ranMs = run.ranMs(clock.monotonic())
    if (ranMs >= consumer.handlerTimeoutMs + consumer.graceMs) return this.giveUp()
    if (ranMs >= consumer.handlerTimeoutMs) {
      run.abort(
        new LeaseLostError('HANDLER_TIMEOUT', `the handler ran longer than ${durationText(consumer.handlerTimeoutMs)}`),
      )
    }
    const limitMs =
      ranMs < consumer.handlerTimeoutMs ? consumer.handlerTimeoutMs : consumer.handlerTimeoutMs + consumer.graceMs
    this.#cancel = clock.after(Math.max(1, Math.ceil(limitMs - ranMs)), () => this.#look())
  }
}
