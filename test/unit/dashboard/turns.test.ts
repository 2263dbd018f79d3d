import { expect, it } from '@jest/globals'
import { turnsDuring } from '../../kit/turns.ts'

// A collection of garbage may take 20 ms, in a process that has run other tests.
const BUSY_MS = 200

it('turnsDuring finds the turn that kept the process busy, and not the time of a wait', async () => {
  const [longest = 0, next = 0] = await turnsDuring(async () => {
    await new Promise((resolve) => setTimeout(resolve, 200))
    const begun = process.cpuUsage()
    const spent = (): number => {
      const { user, system } = process.cpuUsage(begun)
      return (user + system) / 1_000
    }
    while (spent() < BUSY_MS);
    await new Promise((resolve) => setTimeout(resolve, 200))
  })
  expect(longest).toBeGreaterThan(BUSY_MS / 2)
  expect(next).toBeLessThan(BUSY_MS / 2)
})
