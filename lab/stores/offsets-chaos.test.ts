import { describe, expect, it } from '@jest/globals'
import { offsetsChaos } from '../../test/kit/offsets-chaos.ts'

/** `npm test` runs the seeds before these. */
const SEEDS = Array.from({ length: 50 }, (_, index) => 11 + index)

describe('stored positions through crashes, rebalances, restores and two owners at once', () => {
  it.each(SEEDS)('have each message over once, in order (seed %i)', async (seed) => {
    await expect(offsetsChaos(seed)).resolves.toBeUndefined()
  })
})
