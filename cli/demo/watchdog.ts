import type { Health } from '../../src/index.ts'
import { CommandError, EXIT } from '../exit.ts'

/** How long a server may be away before the demo gives up. Nothing is lost: the next run continues. */
const PATIENCE_MS = 60_000

/** Ends a demo that makes no progress, or that gets a signal. */
export class Watchdog {
  /** Rejects with the reason that ended the demo. */
  readonly stalled: Promise<never>
  #reject: (error: CommandError) => void = () => {}
  readonly #timer: NodeJS.Timeout
  readonly #onSignal: (signal: NodeJS.Signals) => void

  constructor(progress: () => number, health: () => Health | undefined) {
    let last = progress()
    let since = performance.now()
    this.stalled = new Promise((_resolve, reject) => {
      this.#reject = reject
    })
    this.stalled.catch(() => {})
    this.#timer = setInterval(() => {
      const now = progress()
      if (now !== last) {
        last = now
        since = performance.now()
      } else if (performance.now() - since > PATIENCE_MS) {
        this.#end(
          EXIT.unreachable,
          `no progress for ${PATIENCE_MS / 1000} s (${JSON.stringify(health()?.checks ?? {})})`,
        )
      }
    }, 1_000)
    this.#onSignal = (signal) =>
      this.#end(signal === 'SIGINT' ? EXIT.interrupted : EXIT.terminated, `stopped by ${signal}`)
    process.once('SIGINT', this.#onSignal)
    process.once('SIGTERM', this.#onSignal)
  }

  #end(exitCode: number, why: string): void {
    this.#reject(new CommandError(exitCode, `${why}. Nothing is lost: run it again on the same --state to go on.`))
  }

  stop(): void {
    clearInterval(this.#timer)
    process.off('SIGINT', this.#onSignal)
    process.off('SIGTERM', this.#onSignal)
  }
}
