import { TerminalError } from '../../src/foundation/errors.ts'
import type { Subject } from '../history.ts'
import type { SimProcess } from './process.ts'
import type { Stage } from './stage.ts'

/** The message and claim of an external effect. */
export interface Effected {
  readonly subject: Subject
  readonly print: string
  readonly token: string
}

/**
 * An external provider, such as one that sends SMS, outside of all transactions. It may know idempotency keys: then it
 * carries out a request once for each key, and refuses a known key with another request.
 */
export class Provider {
  readonly #stage: Stage
  readonly #knowsKeys: boolean
  readonly #accepted = new Map<string, string>()

  constructor(stage: Stage, knowsKeys: boolean) {
    this.#stage = stage
    this.#knowsKeys = knowsKeys
  }

  /**
   * Rejects if the answer is unknown: it may have happened, or may still happen.
   *
   * @throws TerminalError if it did not happen, and will not
   */
  call(process: SimProcess, effect: Effected, idempotencyKey: string): Promise<void> {
    const { faults } = this.#stage
    this.#stage.record(process.name, { f: 'effect', kind: 'attempt', ...effect })
    return new Promise((resolve, reject) => {
      const unknown = (): void => void process.after(100, () => reject(new Error('the provider did not answer')))
      if (faults.happens('requestLost')) return unknown()
      this.#stage.travel(() => {
        const isRefused = this.#accept(effect, idempotencyKey) === 'refused'
        if (faults.happens('replyLost')) return unknown()
        const answer = (): void =>
          isRefused ? reject(new TerminalError('the key was used for something else')) : resolve()
        process.after(faults.latencyMs(), answer)
      })
    })
  }

  #accept(effect: Effected, idempotencyKey: string): 'accepted' | 'known' | 'refused' {
    const known = this.#knowsKeys ? this.#accepted.get(idempotencyKey) : undefined
    if (known !== undefined) return known === effect.print ? 'known' : 'refused'
    this.#accepted.set(idempotencyKey, effect.print)
    this.#stage.record('provider', { f: 'effect', kind: 'accepted', ...effect })
    return 'accepted'
  }
}
