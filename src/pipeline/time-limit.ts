import { LeaseLostError } from '../errors.ts'
import type { HandlerRun } from './handler-run.ts'
import type { Desk } from './runner.ts'

/** Watches the time of the handlers of one transaction, one after the other, with one timer. */
export class TimeLimit {
  readonly #desk: Desk
  #run: HandlerRun | undefined
  #cancel: (() => void) | undefined
  #onStuck: (value: undefined) => void = () => {}
  readonly #stuck: Promise<undefined> = new Promise((resolve) => {
    this.#onStuck = resolve
  })

  constructor(desk: Desk) {
    this.#desk = desk
  }

  /** Resolves with `undefined` when the run is past its timeout and deaf to its signal, or nobody waits any more. */
  race<T>(run: HandlerRun, end: Promise<T>): Promise<T | undefined> {
    this.#run = run
    this.#cancel ??= this.#desk.clock.after(this.#desk.consumer.handlerTimeoutMs, () => this.#look())
    return Promise.race([end, this.#stuck])
  }

  giveUp(): void {
    this.#onStuck(undefined)
  }

  end(): void {
    this.#run = undefined
    this.#cancel?.()
  }

  #look(): void {
    const run = this.#run
    if (run === undefined) return
    const { clock, consumer } = this.#desk
    const ranMs = clock.monotonic() - (run.startedAt ?? clock.monotonic())
    if (ranMs >= consumer.handlerTimeoutMs + consumer.graceMs) return this.giveUp()
    if (ranMs >= consumer.handlerTimeoutMs) {
      run.abort(new LeaseLostError('HANDLER_TIMEOUT', `the handler ran longer than ${consumer.handlerTimeoutMs} ms`))
    }
    const limitMs =
      ranMs < consumer.handlerTimeoutMs ? consumer.handlerTimeoutMs : consumer.handlerTimeoutMs + consumer.graceMs
    this.#cancel = clock.after(Math.max(1, Math.ceil(limitMs - ranMs)), () => this.#look())
  }
}
