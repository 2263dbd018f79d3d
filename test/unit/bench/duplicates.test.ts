import { describe, expect, it } from '@jest/globals'
import { eachOnce, timesDelivered, withDuplicates } from '../../../bench/places/duplicates.ts'

const MESSAGES = 100_000
const deliveries = withDuplicates(MESSAGES)

/** How many deliveries back each repeat finds the first delivery of its ID. */
function distances(): readonly number[] {
  const first = new Map<number, number>()
  const found: number[] = []
  for (let delivery = 0; delivery < MESSAGES; delivery++) {
    const id = deliveries.idOf(delivery)
    const earlier = first.get(id)
    if (earlier === undefined) first.set(id, delivery)
    else found.push(delivery - earlier)
  }
  return found
}

describe('deliveries with duplicates', () => {
  it('bring every ID, new ones in order, and one repeat in five', () => {
    const all = Array.from({ length: MESSAGES }, (_, delivery) => deliveries.idOf(delivery))
    const inOrderOfFirst = [...new Set(all)]
    expect(inOrderOfFirst).toEqual(Array.from({ length: deliveries.ids }, (_, id) => id))
    expect(deliveries.ids).toBe(MESSAGES * 0.8)
  })

  it('repeat half of them near, and half of them a quarter or half of all deliveries later', () => {
    const near = distances().filter((distance) => distance <= 100)
    const far = distances().filter((distance) => distance >= MESSAGES / 4)
    expect(near.length + far.length).toBe(MESSAGES / 5)
    expect(near.length / (MESSAGES / 5)).toBeCloseTo(0.5, 2)
    expect(near.filter((distance) => distance < 10).length).toBeLessThan(10)
    expect(far.filter((distance) => distance > MESSAGES / 2 - 1).length).toBeGreaterThan(far.length / 5)
    expect(Math.max(...far)).toBeLessThan(MESSAGES / 2 + 10)
  })

  it('repeat over eight partitions about evenly', () => {
    const repeats = Array.from({ length: 8 }, () => 0)
    for (let delivery = 4; delivery < MESSAGES; delivery += 5) {
      const partition = deliveries.idOf(delivery) % 8
      repeats[partition] = (repeats[partition] ?? 0) + 1
    }
    const fair = MESSAGES / 5 / 8
    expect(Math.min(...repeats)).toBeGreaterThan(fair * 0.9)
    expect(Math.max(...repeats)).toBeLessThan(fair * 1.1)
  })

  it.each([1, 4, 5, 9, 13, 200])('are as many as there should be of %p', (messages) => {
    const few = withDuplicates(messages)
    const times = timesDelivered(few)
    expect(times).toHaveLength(few.ids)
    expect(Math.min(...times)).toBe(1)
    expect(times.reduce((sum, count) => sum + count, 0)).toBe(messages)
  })

  it('are none where each comes once', () => {
    expect([...timesDelivered(eachOnce(3))]).toEqual([1, 1, 1])
  })
})
