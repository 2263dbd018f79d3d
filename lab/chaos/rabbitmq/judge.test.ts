import { describe, expect, it } from '@jest/globals'
import type { Effect } from '../evidence.ts'
import type { Evidence, WireEvidence } from './evidence.ts'
import { judge } from './judge.ts'

/** Two messages that were handled, one of them sent twice, and one that no attempt helps. */
const WIRE: WireEvidence = {
  deliveries: 4,
  redeliveries: 0,
  ackFrames: 2,
  settledAt: new Map([
    ['a', 5],
    ['b', 15],
    ['p', 40],
  ]),
  deadLetterConfirmedAt: new Map([['p', 40]]),
  unconfirmedDeadLetters: new Map(),
  lostDeliveries: new Map(),
  refusals: [],
}
const GOOD: Evidence = {
  store: 'postgres',
  acknowledged: new Set(['a', 'b', 'p']),
  sent: new Map([
    ['a', 2],
    ['b', 1],
    ['p', 1],
  ]),
  poison: new Set(['p', 'never sent']),
  effects: [done('a', 0), done('b', 10)],
  faults: [],
  leaseMs: 5_000,
  left: [],
  deadLetters: ['p'],
  wire: WIRE,
}

function done(id: string, at: number): Effect {
  return { id, process: 'w1.1', begunAt: at - 5, at }
}

function withWire(changes: Partial<WireEvidence>, more: Partial<Evidence> = {}): Evidence {
  return { ...GOOD, ...more, wire: { ...WIRE, ...changes } }
}

function laws(evidence: Evidence): readonly string[] {
  return judge(evidence).violations.map(({ law }) => law)
}

describe('the judge of a chaos run on RabbitMQ', () => {
  it('accepts a correct run', () => {
    expect(judge(GOOD)).toEqual({
      violations: [],
      figures: {
        ids: 3,
        sent: 4,
        effects: 2,
        doubles: 0,
        poison: 1,
        deadLetters: 1,
        deadLettersTooMany: 0,
        deliveries: 4,
        redeliveries: 0,
        ackFrames: 2,
      },
    })
  })

  it('finds a lost message, and the settle that lost it', () => {
    expect(judge({ ...GOOD, effects: [done('a', 0)] }).violations).toEqual([
      { law: 'nothing-lost', detail: 'b has no effect' },
      { law: 'never-settled-unfinished-work', detail: 'b was settled at 15, and was never finished' },
    ])
  })

  it('does not count a message in the queue as lost, and requires an empty queue', () => {
    const settledAt = new Map([['a', 5]])
    expect(laws(withWire({ settledAt }, { effects: [done('a', 0)], left: ['b'] }))).toEqual(['queue-is-empty'])
  })

  it('finds a message that was settled before its effect, even if the effect came later', () => {
    expect(judge({ ...GOOD, effects: [done('a', 0), done('b', 18)] }).violations).toEqual([
      { law: 'never-settled-unfinished-work', detail: 'b was settled at 15, and was finished 3 ms later' },
    ])
  })

  it('accepts a settle in the same millisecond as the effect', () => {
    expect(laws({ ...GOOD, effects: [done('a', 0), done('b', 15.9)] })).toEqual([])
  })

  it('finds a message that was settled before its dead letter was confirmed', () => {
    expect(laws(withWire({ deadLetterConfirmedAt: new Map([['p', 41]]) }))).toEqual(['never-settled-unfinished-work'])
    expect(laws(withWire({ deadLetterConfirmedAt: new Map() }))).toEqual(['never-settled-unfinished-work'])
  })

  it('finds a second effect', () => {
    expect(laws({ ...GOOD, effects: [...GOOD.effects, done('b', 9_000)] })).toEqual(['no-double-effect'])
  })

  it('finds a channel that the broker closed', () => {
    const refusal = '406 PRECONDITION_FAILED - unknown delivery tag 7'
    expect(judge(withWire({ refusals: [refusal] })).violations).toEqual([{ law: 'nothing-refused', detail: refusal }])
  })

  describe('of dead letters', () => {
    it('finds one of a message that could have been handled', () => {
      expect(laws({ ...GOOD, deadLetters: ['p', 'b'] })).toEqual(['only-poison-is-dead-lettered'])
    })

    it('finds poison without one', () => {
      expect(laws({ ...GOOD, deadLetters: [] })).toEqual(['all-poison-is-dead-lettered'])
    })

    it('allows one for each time it was sent', () => {
      const sent = new Map([...GOOD.sent, ['p', 2]])
      expect(laws({ ...GOOD, sent, deadLetters: ['p', 'p'] })).toEqual([])
    })

    it('finds a second one that nothing explains', () => {
      expect(judge({ ...GOOD, deadLetters: ['p', 'p'] })).toMatchObject({
        violations: [
          {
            law: 'no-unexplained-dead-letter',
            detail: 'p: 2 dead letters, sent 1 times, 0 deliveries lost, 0 dead letters unconfirmed',
          },
        ],
        figures: { deadLettersTooMany: 1 },
      })
    })

    it('counts a second one where its delivery was lost, or its confirm', () => {
      const deadLetters = ['p', 'p']
      const one = new Map([['p', 1]])
      const losses: readonly Partial<WireEvidence>[] = [{ lostDeliveries: one }, { unconfirmedDeadLetters: one }]
      for (const lost of losses) {
        const evidence = withWire(lost, { deadLetters })
        expect(judge(evidence)).toMatchObject({ violations: [], figures: { deadLettersTooMany: 1 } })
      }
    })
  })
})
