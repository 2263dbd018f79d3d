import { EXIT } from './exit.ts'

/** Once: what runs is finished, and the rest left. Twice: the process ends. */
export class Interrupts implements Disposable {
  readonly #controller = new AbortController()
  #exitCode: number | undefined

  constructor() {
    process.on('SIGINT', this.#onInterrupt).on('SIGTERM', this.#onTerminate)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** `undefined`: there was none. */
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
