import { describe, expect, it } from '@jest/globals'
import { memoryStore } from '../../src/memory/store.ts'
import { assertLikeTransition } from './store-model.ts'
import { MapStore } from './map-store.ts'
import { WRONG_STEPS } from './wrong-stores.ts'

/** With this one each flaw is found within 1,319 runs; by chance the rarest takes some 5,000, or far more. */
const SEED = 11

describe('random calls of three owners', () => {
  it('are answered by memory as transition() says', async () => {
    let now = 1_000_000
    const wait = (ms: number): void => void (now += ms)
    await expect(
      assertLikeTransition(memoryStore({ clock: { now: () => now } }), { numRuns: 500, wait }),
    ).resolves.toBeUndefined()
  })

  it.each(Object.entries(WRONG_STEPS))('find out a lease that %s', async (_flaw, step) => {
    const store = new MapStore(step)
    const wait = (ms: number): void => void (store.now += ms)
    await expect(assertLikeTransition(store, { numRuns: 5_000, seed: SEED, wait })).rejects.toThrow('Property failed')
  })
})
