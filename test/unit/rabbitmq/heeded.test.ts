import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from '@jest/globals'
import { untilRead } from '../../../adapters/amqplib/settling/heeded.ts'

/** How long a channel is kept open whose broker takes so long for the second answer: the first one comes when it has read all before. */
async function waitedFor(...answersMs: readonly number[]): Promise<number> {
  const left = [...answersMs]
  const started = performance.now()
  await untilRead({
    cancel: async () => {
      await sleep(left.shift() ?? 0)
      return {}
    },
  })
  return performance.now() - started - answersMs.reduce((sum, ms) => sum + ms, 0)
}

it('a close waits longer for a broker that answers slowly, and not for ever', async () => {
  expect(await waitedFor(0, 0)).toBeGreaterThan(95)
  // The first answer comes when the broker has read all acks: it says nothing about how busy the broker is.
  expect(await waitedFor(300, 20)).toBeGreaterThan(380)
  const longest = await waitedFor(0, 300)
  expect(longest).toBeGreaterThan(1_990)
  expect(longest).toBeLessThan(5_500)
})
