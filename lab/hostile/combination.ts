import { expect, it } from '@jest/globals'
import type { Carrier } from './entry.ts'
import { runCorpus } from './run-corpus.ts'
import type { Stage } from './stage.ts'
import type { HostileStore } from './stores.ts'
import { tell } from './tally.ts'

const WITHIN_MS = 240_000

export interface Combination {
  readonly store: HostileStore
  readonly carrier: Carrier
  readonly openStage: () => Promise<Stage>
  readonly handler?: 'handle' | 'handleBatch'
}

/** The whole corpus, on one store, from one broker. */
export function describeCombination({ store, carrier, openStage, handler = 'handle' }: Combination): void {
  const name = `${store.name}${handler === 'handle' ? '' : ', handleBatch'}`
  it(
    `${name}: nothing crashes, no two messages are taken for one, none is lost`,
    async () => {
      const opened = await store.open()
      try {
        await opened.store.open()
        await using stage = await openStage()
        const run = await runCorpus({ stage, opened, handler })
        tell({ name: `${carrier}, ${name}`, ...run })
        expect({ crashes: run.crashes, findings: run.findings }).toEqual({ crashes: [], findings: [] })
      } finally {
        await opened.close()
      }
    },
    WITHIN_MS,
  )
}
