// A handler under faults: the whole library on virtual time, with a broker, a store and a provider that fail.
// #region readme
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { OutcomeUnknownError } from 'consume-once'
import { check, explain, simulateAll, type Promised, type SimulatedHandler } from 'consume-once/testing'

/** `apply` is the call of your provider. It rejects where nobody knows whether the SMS has gone out. */
const careful: SimulatedHandler = async ({ apply }) => {
  try {
    await apply()
  } catch (error) {
    throw new OutcomeUnknownError('the provider did not answer', { cause: error })
  }
}

/** A plain throw says that nothing happened, and nothing will: the message runs again. */
const careless: SimulatedHandler = async ({ apply }) => apply()

/** What the first schedule that breaks the promise shows, out of 500. */
async function brokenBy(handle: SimulatedHandler, promised: Promised): Promise<string | undefined> {
  for await (const { seed, history, rules } of simulateAll(1, 500, { promised, handle })) {
    const verdict = check(history, rules)
    if (!verdict.valid) return `seed ${seed}\n${explain(verdict)}`
  }
  return undefined
}

describe('handlers under lost replies, crashes, pauses and rebalances', () => {
  it('never sends twice what it parks when it does not know', async () => {
    assert.equal(await brokenBy(careful, 'lease, park'), undefined)
  })

  it('sends twice if it throws plainly what it does not know', async () => {
    assert.match((await brokenBy(careless, 'lease, park')) ?? '', /A2 duplicate accepted/)
  })
})
// #endregion
