import { describe, expect, it } from '@jest/globals'
import { offsetsChaos } from '../kit/offsets-chaos.ts'

/** lab/stores/offsets-chaos.test.ts goes on with the seeds after these. */
const SEEDS = Array.from({ length: 10 }, (_, index) => 1 + index)

describe('stored positions through crashes, rebalances, restores and two owners at once', () => {
  it.each(SEEDS)(
    'have each message over once, in order: handled, or dead-lettered with a confirm (seed %i) [T36]',
    async (seed) => {
      await expect(offsetsChaos(seed)).resolves.toBeUndefined()
    },
  )
})
