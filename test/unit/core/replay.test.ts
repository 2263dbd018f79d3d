import { describe, expect, it } from '@jest/globals'
import { bucketOf, BUCKETS, LACKS, stepFor, type ReplayFacts, type ReplayRules } from '../../../src/core/replay.ts'
import type { RecordView } from '../../../src/core/record.ts'

const RULES: ReplayRules = { again: false, givenUp: 'skip', inDoubt: 'leave', unknown: 'refuse', maxReplays: 2 }
const FACTS: ReplayFacts = { view: { state: 'absent' }, digest: 'd1', selected: 'yes', isProven: true, replays: 0 }

function bucket(facts: Partial<ReplayFacts>): string {
  return bucketOf({ ...FACTS, ...facts }, RULES)
}

describe('the bucket of a message', () => {
  const states: readonly RecordView['state'][] = ['processing', 'in-doubt', 'done', 'given-up', 'parked', 'unreadable']

  it.each(states)('is that of its record: %s', (state) => {
    expect(bucket({ view: { state } })).toBe(state)
  })

  it('is fresh without a record only if that proves something', () => {
    expect(bucket({})).toBe('fresh')
    expect(bucket({ isProven: false })).toBe('unknown')
  })

  it('is fresh with a record of attempts alone, whatever its age', () => {
    expect(bucket({ view: { state: 'released', attempt: 2 }, isProven: false })).toBe('fresh')
  })

  it('is conflict if the record has another payload, and payloads are compared', () => {
    expect(bucket({ view: { state: 'done', digest: 'd2' } })).toBe('conflict')
    expect(bucket({ view: { state: 'done', digest: 'd2' }, digest: '' })).toBe('done')
    expect(bucket({ view: { state: 'done' } })).toBe('done')
  })

  it('is looped only if it could run', () => {
    expect(bucket({ replays: 2 })).toBe('looped')
    expect(bucket({ replays: 2, view: { state: 'done' } })).toBe('done')
    expect(bucket({ replays: 1 })).toBe('fresh')
  })

  it('is filtered before all else', () => {
    expect(bucket({ selected: 'no', view: 'no-id' })).toBe('filtered')
  })

  it('is that of what it lacks if nothing tells whether it is meant', () => {
    for (const lack of LACKS) expect(bucket({ selected: lack, view: { state: 'done' } })).toBe(lack)
  })
})

describe('what follows for a bucket', () => {
  it('leaves everything alone that was not allowed', () => {
    const steps = Object.fromEntries(BUCKETS.map((name) => [name, stepFor(name, RULES)]))
    expect(steps).toEqual({
      fresh: 'handle',
      done: 'skip',
      'given-up': 'skip',
      processing: 'wait',
      'in-doubt': 'leave',
      parked: 'leave',
      conflict: 'leave',
      'no-id': 'leave',
      unreadable: 'leave',
      unknown: 'refuse',
      looped: 'leave',
      undated: 'skip',
      'no-reason': 'skip',
      'no-field': 'skip',
      filtered: 'skip',
    })
  })

  it('changes records only where the rules say so', () => {
    const allowed: ReplayRules = { again: true, givenUp: 'handle', inDoubt: 'rerun', unknown: 'handle', maxReplays: 9 }
    expect(
      ['done', 'given-up', 'in-doubt', 'unknown', 'parked'].map((name) => stepFor(name as 'done', allowed)),
    ).toEqual(['forget', 'reopen', 'rerun', 'handle', 'leave'])
  })
})
