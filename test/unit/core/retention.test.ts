import { describe, expect, it } from '@jest/globals'
import { durationText } from '../../../src/core/duration-text.ts'
import { horizonOf, longestAttempt, suggestRetention, tooShort } from '../../../src/core/retention.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000

describe('horizonOf', () => {
  it('lies a clock margin after the end of retention, and never a great part of it', () => {
    expect(horizonOf(1_000_000_000, DAY_MS)).toBe(1_000_000_000 - DAY_MS + 60_000)
    expect(horizonOf(1_000_000, 100_000)).toBe(1_000_000 - 100_000 + 10_000)
  })
})

describe('longestAttempt', () => {
  const TIMES = { leaseMs: 30, handlerTimeoutMs: 60, graceMs: 5, backoff: { initialMs: 100, maxMs: 1_000 } }

  it.each([
    [1, 0],
    [2, 100],
    [5, 800],
    [6, 1_000],
    [Number.MAX_SAFE_INTEGER, 1_000],
  ])('of %i is followed by the longest of their delays', (maxAttempts, delayMs) => {
    expect(longestAttempt({ ...TIMES, maxAttempts })).toEqual({ ms: 95 + delayMs, sum: `30 + 60 + 5 + ${delayMs}` })
  })
})

describe('suggestRetention', () => {
  it('adds what is under way to what the broker keeps, in whole hours, and says how', () => {
    const { retentionMs, isEnough, because } = suggestRetention({
      topicRetentionMs: 7 * DAY_MS,
      leaseMs: 30_000,
      maxAttempts: 5,
      handlerTimeoutMs: 60_000,
      graceMs: 5_000,
      delays: { initialMs: 200, maxMs: 30_000 },
    })
    expect(retentionMs).toBe(7 * DAY_MS + HOUR_MS)
    expect(isEnough).toBe(true)
    expect(because).toEqual([
      'the topic keeps messages for 7 days',
      'then it may be under way for 358 s: a lease of 30 s, 5 attempts of 65 s, 3 s between them',
      'clocks may differ by 1 min',
      'in whole hours: 169 h',
    ])
  })

  it('takes the longer of topic and queue, and the delays of retry places one by one', () => {
    const facts = { topicRetentionMs: DAY_MS, queueTtlMs: 2 * DAY_MS }
    expect(suggestRetention(facts).retentionMs).toBe(2 * DAY_MS + HOUR_MS)
    expect(suggestRetention({ ...facts, delays: [HOUR_MS, 2 * HOUR_MS] }).retentionMs).toBe(2 * DAY_MS + 4 * HOUR_MS)
  })

  it.each([
    [2, 100],
    [5, 100 + 200 + 400 + 800],
    [7, 100 + 200 + 400 + 800 + 1_000 + 1_000],
    [1_000_000, 1_500 + 999_995 * 1_000],
  ])('counts the delays between %i attempts', (maxAttempts, delaysMs) => {
    const { because } = suggestRetention({ maxAttempts, handlerTimeoutMs: 1, delays: { initialMs: 100, maxMs: 1_000 } })
    expect(because).toContainEqual(
      expect.stringContaining(`${maxAttempts} attempts of 1 ms, ${durationText(delaysMs)} between them`),
    )
  })

  it('counts them at once for as many attempts as there are numbers', () => {
    const delays = { initialMs: 1, maxMs: Number.MAX_SAFE_INTEGER }
    expect(suggestRetention({ maxAttempts: Number.MAX_SAFE_INTEGER, delays }).retentionMs).toBeGreaterThan(1e24)
  })

  it('is not enough where a broker keeps for ever, or nobody knows', () => {
    expect(suggestRetention({ queueTtlMs: 'for-ever' })).toMatchObject({
      isEnough: false,
      retentionMs: 7 * DAY_MS + HOUR_MS,
    })
    expect(suggestRetention({})).toMatchObject({ isEnough: false, retentionMs: HOUR_MS })
  })

  it('is never found too short for what it was made from', () => {
    const { retentionMs } = suggestRetention({ topicRetentionMs: 3 * DAY_MS })
    expect(tooShort(retentionMs, 3 * DAY_MS)).toBeUndefined()
  })
})

describe('tooShort', () => {
  it('tells by how much', () => {
    expect(tooShort(100, 100)).toBeUndefined()
    expect(tooShort(100, 101)).toContain('again for 101 ms, done is kept for 100 ms (retentionMs): up to 1 ms after')
    expect(tooShort(100, 'for-ever')).toContain('again for ever')
  })
})
