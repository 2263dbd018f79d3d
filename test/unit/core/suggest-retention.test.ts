import { describe, expect, it } from '@jest/globals'
import { ConfigError } from '../../../src/foundation/errors.ts'
import { suggestRetention } from '../../../src/consumer/suggest-retention.ts'

const HOUR_MS = 3_600_000

describe('suggestRetention of the package', () => {
  it.each([null, 7, 'day', [HOUR_MS]])('refuses %j in place of facts', (facts) => {
    expect(problemsOf(facts)).toEqual([expect.stringMatching(/^suggestRetention: options: expected an object, got /)])
  })

  it('tells each problem in one error', () => {
    const facts = {
      topicRetentionMs: -1,
      queueTtlMs: '60000',
      leaseMs: Number.NaN,
      maxAttempts: Number.POSITIVE_INFINITY,
      handlerTimeoutMs: -5,
      graceMs: null,
      delays: [1, '2'],
      retentionMs: 5,
    }
    expect(problemsOf(facts)).toEqual([
      expect.stringMatching(/retentionMs: unknown option; expected one of topicRetentionMs, /),
      `suggestRetention: topicRetentionMs: expected milliseconds from 0 or "for-ever", got -1: that of the broker is "for-ever" here`,
      'suggestRetention: queueTtlMs: expected milliseconds from 0 or "for-ever", got "60000"',
      'suggestRetention: leaseMs: expected milliseconds from 0, got NaN',
      'suggestRetention: maxAttempts: expected a whole number from 1, got Infinity',
      'suggestRetention: handlerTimeoutMs: expected milliseconds from 0, got -5',
      'suggestRetention: graceMs: expected milliseconds from 0, got null',
      'suggestRetention: delays[1]: expected milliseconds from 0, got "2"',
    ])
  })

  it.each([
    ['30 s', ['delays: expected { initialMs, maxMs } or a list, of milliseconds, got "30 s"']],
    [
      { initialMs: 1, max: 2 },
      [
        'delays.max: unknown option; expected one of initialMs, maxMs',
        'delays.maxMs: expected milliseconds from 0, got undefined',
      ],
    ],
  ])('refuses the delays %j', (delays, problems) => {
    expect(problemsOf({ delays })).toEqual(problems.map((problem) => `suggestRetention: ${problem}`))
  })

  it('takes undefined for not given, and for-ever', () => {
    const facts = { topicRetentionMs: 'for-ever', queueTtlMs: undefined, leaseMs: undefined, delays: [] }
    expect(problemsOf(facts)).toEqual([])
    expect(suggestRetention({ queueTtlMs: HOUR_MS, leaseMs: 30_000 }).retentionMs).toBe(2 * HOUR_MS)
  })
})

function problemsOf(facts: unknown): readonly string[] {
  try {
    suggestRetention(facts as never)
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return []
}
