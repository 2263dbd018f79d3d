import { EXIT } from './exit.ts'

/** The first signal lets the current work finish and skips the rest. The second one ends the process. */
export class Interrupts implements Disposable {
  readonly #controller = new AbortController()
  #exitCode: number | undefined

  constructor() {
    process.on('SIGINT', this.#onInterrupt).on('SIGTERM', this.#onTerminate)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** `undefined`: there was no signal. */
  get exitCode(): number | undefined {
    return this.#exitCode
  }

  [Symbol.dispose](): void {
    process.off('SIGINT', this.#onInterrupt).off('SIGTERM', this.#onTerminate)
  }

  readonly #onInterrupt = (): void => this.#end(EXIT.interrupted)
  readonly #onTerminate = (): void => this.#end(EXIT.terminated)

  #end(exitCode: number): void {
    if (this.#exitCode !== undefined) process.exit(exitCode)
    this.#exitCode = exitCode
    this.#controller.abort()
  }
}
