import type { Store } from '../../src/index.ts'
import type { InboxStore } from '../../src/internal.ts'
import { withCalls } from '../../test/kit/store-with.ts'
import type { WorkerTransaction } from '../kit/worker/module.ts'
import { die, haveEffect, type EffectsPlace } from '../kit/worker/effect.ts'

export type DieAt = 'before the claim is answered' | 'in the function' | 'before the mark' | 'after the mark' | 'never'

export const FRAMEWORKS = ['express', 'fastify', 'hono'] as const
export type Framework = (typeof FRAMEWORKS)[number]

/** What a process of these tests is started with. */
export interface MortalSpec extends EffectsPlace {
  readonly key: string
  readonly dieAt: DieAt
  readonly onInDoubt?: 'rerun' | 'park'
  /** Behind which a server is. @defaultValue none, but node's own server */
  readonly framework?: Framework
}

/** A store, and the effect of the function, both of which kill the process where its spec says. */
export class Mortal {
  readonly #spec: MortalSpec

  constructor(spec: MortalSpec) {
    this.#spec = spec
  }

  store(store: Store<WorkerTransaction>): InboxStore<WorkerTransaction> {
    return withCalls(store, {
      claim: async (request) => {
        const answers = await store.claim(request)
        await this.#dieAt('before the claim is answered')
        return answers
      },
      mark: async (claims, results) => {
        await this.#dieAt('before the mark')
        const verdicts = await store.mark(claims, results)
        await this.#dieAt('after the mark')
        return verdicts
      },
    }) as InboxStore<WorkerTransaction>
  }

  async effect(tx: WorkerTransaction | undefined): Promise<void> {
    await haveEffect(this.#spec, this.#spec.key, tx)
    await this.#dieAt('in the function')
  }

  async #dieAt(point: DieAt): Promise<void> {
    if (this.#spec.dieAt === point) await die()
  }
}
