import { expect, it } from '@jest/globals'
import { CASES } from './plan.ts'
import { runRound } from './round.ts'

/** The short form of `npm run footprint`. How much CPU it takes is up to the machine. */
it.each(CASES)(
  'a worker on %s is idle without messages, and handles all that is sent to it',
  async (what) => {
    const { idle, loaded } = await runRound(what, 2)
    expect(idle.handledPerSecond).toBe(0)
    expect(loaded.handledPerSecond).toBeGreaterThan(0)
    expect(loaded.millicores).toBeGreaterThan(idle.millicores)
    expect(Math.min(idle.memoryMib, loaded.memoryMib)).toBeGreaterThan(20)
  },
  300_000,
)
