import { TerminalError } from '../../src/errors.ts'
import type { Subject } from '../history.ts'
import type { SimProcess } from './process.ts'
import type { Stage } from './stage.ts'

/** What an external effect is of. */
export interface Effected {
  readonly subject: Subject
  readonly print: string
  readonly token: string
}

/**
 * Whoever sends the SMS: outside all transactions. It may know idempotency keys: what it has done before it does only once then, and
 * refuses a key that comes with something else.
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
   * Rejects where the answer is not known: it may have happened, or may still.
   *
   * @throws TerminalError it did not happen, and will not
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
