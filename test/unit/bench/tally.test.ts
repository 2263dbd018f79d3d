import { describe, expect, it } from '@jest/globals'
import { withDuplicates } from '../../../bench/places/duplicates.ts'
import { Tally } from '../../../bench/tally.ts'

const MESSAGES = 20
const deliveries = withDuplicates(MESSAGES)
const { ids } = deliveries

/** Starts a handler for each of these, and ends as many deliveries. */
function tallied(handled: 'once' | 'each-delivery', starts: readonly number[], ended: number = MESSAGES): Tally {
  const tally = new Tally({ messages: MESSAGES, ids }, handled)
  tally.arrived()
  for (const id of starts) tally.started(`${id}`)
  tally.ended(ended)
  return tally
}

const eachId = Array.from({ length: ids }, (_, id) => id)
const eachDelivery = Array.from({ length: MESSAGES }, (_, delivery) => deliveries.idOf(delivery))

describe('what a contender handled', () => {
  it('is right where each ID was handled once, and every delivery has ended', async () => {
    const tally = tallied('once', eachId)
    await tally.complete
    expect(tally.measurement()).toMatchObject({ messages: MESSAGES })
  })

  it('is right without deduplication where each delivery was handled', () => {
    expect(tallied('each-delivery', eachDelivery).measurement()).toMatchObject({ messages: MESSAGES })
  })

  it.each([
    ['an ID that nobody handled', () => tallied('once', eachId.slice(1)), '1 handler runs missing, 0 too many'],
    ['a duplicate that was handled', () => tallied('once', [...eachId, 3]), '0 handler runs missing, 1 too many'],
    ['a delivery that was lost', () => tallied('each-delivery', eachId), '4 handler runs missing, 0 too many'],
    ['a delivery that has not ended', () => tallied('once', eachId, MESSAGES - 1), '19 ended'],
    ['one that ended twice', () => tallied('once', eachId, MESSAGES + 1), '21 ended'],
  ])('is wrong with %s', (_, tally, problem) => {
    expect(() => tally().measurement()).toThrow(problem)
  })

  it('is wrong with a message that nobody sent', () => {
    expect(() => tallied('once', [ids])).toThrow('a message that nobody sent')
  })
})
