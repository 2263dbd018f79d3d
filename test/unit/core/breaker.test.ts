import { describe, expect, it } from '@jest/globals'
import { array, assert, constantFrom, property } from 'fast-check'
import {
  admitsFailure,
  allowance,
  AT_EASE,
  HOLD_AFTER,
  isHolding,
  moved,
  trialDelayMs,
  type Breaker,
  type BreakerEvent,
} from '../../../src/core/breaker.ts'

const EVENTS: readonly BreakerEvent[] = [
  'failed',
  'attempt-failed',
  'succeeded',
  'idle',
  'nothing-left',
  'due',
  'resumed',
]

const history = array(constantFrom(...EVENTS), { maxLength: 400 })
/** Nothing comes through, and nobody says that all is well. */
const bad = array(constantFrom(...EVENTS.filter((one) => one !== 'succeeded' && one !== 'resumed')), {
  maxLength: 400,
})

function after(events: readonly BreakerEvent[], from: Breaker = AT_EASE): Breaker {
  return events.reduce((state, event) => moved(state, event), from)
}

const failures = (count: number): BreakerEvent[] => Array.from({ length: count }, () => 'failed')

describe('the breaker', () => {
  it('is closed after one failure less than it takes, and closed again after a success', () => {
    expect(after(failures(HOLD_AFTER - 1))).toEqual({ is: 'closed', failures: HOLD_AFTER - 1 })
    expect(after([...failures(HOLD_AFTER - 1), 'succeeded'])).toBe(AT_EASE)
  })

  it('waits for what runs, then takes one last look, then holds', () => {
    const awaiting = after(failures(HOLD_AFTER))
    expect([awaiting.is, admitsFailure(awaiting), isHolding(awaiting)]).toEqual(['awaiting', false, false])
    const look = moved(awaiting, 'idle')
    expect([look.is, allowance(look), isHolding(look)]).toEqual(['last-look', 1, false])
    expect(moved(look, 'failed')).toEqual({ is: 'holding', trials: 0 })
    expect(moved(awaiting, 'nothing-left')).toEqual({ is: 'holding', trials: 0 })
  })

  it('waits twice as long after each trial that failed, up to a minute', () => {
    const delays = Array.from({ length: 9 }, (_, trials) => trialDelayMs(trials) / 1_000)
    expect(delays).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60])
    expect(trialDelayMs(1_000_000)).toBe(60_000)
    const trying = after(['due'], { is: 'holding', trials: 3 })
    expect(moved(trying, 'attempt-failed')).toEqual({ is: 'holding', trials: 4 })
  })

  it('is at ease after a success and after a decision of a person, whatever was before', () => {
    assert(
      property(history, constantFrom('succeeded' as const, 'resumed' as const), (events, end) => {
        expect(moved(after(events), end)).toBe(AT_EASE)
      }),
    )
  })

  it('is never closed again by time or silence, once it has opened', () => {
    assert(
      property(bad, bad, (before, later) => {
        const open = after([...before, ...failures(HOLD_AFTER)])
        expect(open.is).not.toBe('closed')
        expect(after(later, open).is).not.toBe('closed')
      }),
    )
  })

  it('lets no more than its limit and one for each look and trial end without a success', () => {
    assert(
      property(history, (events) => {
        let state: Breaker = AT_EASE
        let ended = 0
        let looks = 0
        for (const event of events) {
          if (event === 'failed') {
            if (!admitsFailure(state)) continue
            ended++
          }
          const next = moved(state, event)
          if (next !== state && (next.is === 'trying' || next.is === 'last-look')) looks++
          state = next
          if (state === AT_EASE) ended = looks = 0
          expect(ended).toBeLessThanOrEqual(HOLD_AFTER + looks)
        }
      }),
    )
  })

  it('lets messages begin exactly where a failure may end, as many as there may be failures', () => {
    assert(
      property(history, (events) => {
        const state = after(events)
        expect(allowance(state) > 0).toBe(admitsFailure(state))
      }),
    )
  })
})
