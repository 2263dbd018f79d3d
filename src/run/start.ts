import type { StartResult } from '../ports/lifecycle.ts'

interface StartParts {
  /** Rejects if the consumer cannot start. It looks for a stop after each await, and returns then. */
  readonly work: () => Promise<void>
  /** Cleans up after `work` failed, before the failure is told. Must not reject. */
  readonly failed: (error: unknown) => Promise<void>
  /** `work` failed after a stop was asked for. Nobody waits for it any more. */
  readonly failedLate: (error: unknown) => void
}

/**
 * One start of a consumer. A stop that is asked for while it is under way is no failure: the start resolves with
 * `stopped` at once, and what its work does later rejects no promise.
 */
export class Start {
  /** Settles as soon as a stop is asked for, even if parts of the start are still under way. */
  readonly result: Promise<StartResult>
  /** Resolves when no part of the start is under way any more. */
  readonly ended: Promise<void>
  /** The first of a stop and a failure decides. */
  #state: 'under-way' | 'stopped' | 'failed' = 'under-way'
  #cancel: (result: StartResult) => void = () => {}

  constructor(parts: StartParts) {
    const cancelled = new Promise<StartResult>((resolve) => {
      this.#cancel = resolve
    })
    const started = this.#run(parts)
    this.ended = started.then(ignore, ignore)
    this.result = Promise.race([started, cancelled])
  }

  /** A stop is asked for. It changes nothing after the start has ended. */
  stop(): void {
    if (this.#state !== 'under-way') return
    this.#state = 'stopped'
    this.#cancel('stopped')
  }

  async #run({ work, failed, failedLate }: StartParts): Promise<StartResult> {
    try {
      await work()
      return this.#state === 'under-way' ? 'ready' : 'stopped'
    } catch (error) {
      if (this.#state === 'stopped') {
        failedLate(error)
        return 'stopped'
      }
      this.#state = 'failed'
      await failed(error)
      throw error
    }
  }
}

function ignore(): void {}
