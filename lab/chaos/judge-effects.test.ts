import { describe, expect, it } from '@jest/globals'
import type { Effect, EvidenceOfEffects, ProcessFault } from './evidence.ts'
import { countDoubles, effectsById, judgeDoubles } from './judge-effects.ts'

const LEASE_MS = 6_000
const ONCE: readonly Effect[] = [done('a', 0), done('b', 10), done('c', 20)]
const AGAIN: readonly Effect[] = [...ONCE, done('b', 12_000, 'w2.1')]
const KILLED: ProcessFault = { process: 'w1.1', kind: 'killed', from: 11, to: Number.POSITIVE_INFINITY }

function done(id: string, at: number, process = 'w1.1', begunAt = at - 5): Effect {
  return { id, process, begunAt, at }
}

function inbox(faults: readonly ProcessFault[], effects: readonly Effect[]): EvidenceOfEffects {
  return { store: 'postgres', effects, faults, leaseMs: LEASE_MS }
}

function lease(faults: readonly ProcessFault[], effects: readonly Effect[] = AGAIN): EvidenceOfEffects {
  return { store: 'redis', effects, faults, leaseMs: LEASE_MS }
}

function laws(evidence: EvidenceOfEffects): readonly string[] {
  return judgeDoubles(effectsById(evidence.effects), evidence).map(({ law }) => law)
}

describe('the judge of a second effect', () => {
  it('accepts one effect for each message', () => {
    expect(laws(inbox([], ONCE))).toEqual([])
    expect(laws(lease([], ONCE))).toEqual([])
  })

  it('counts every effect after the first one of an ID', () => {
    expect(countDoubles(effectsById(ONCE))).toBe(0)
    expect(countDoubles(effectsById([...AGAIN, done('b', 24_000), done('c', 24_000)]))).toBe(3)
  })

  it('finds a second effect on an inbox, whatever fault happened', () => {
    expect(laws(inbox([KILLED], AGAIN))).toEqual(['no-double-effect'])
  })

  it('accepts a second effect on a lease if its process was killed before the mark', () => {
    expect(laws(lease([KILLED]))).toEqual([])
  })

  it('accepts a second effect on a lease if its process was frozen for longer than the lease', () => {
    expect(laws(lease([{ process: 'w1.1', kind: 'frozen', from: 8, to: 8 + LEASE_MS }]))).toEqual([])
  })

  it('accepts a second effect of a frozen process after it resumed', () => {
    const effects = [...ONCE, done('b', 9_000, 'w2.1', 3)]
    expect(laws(lease([{ process: 'w2.1', kind: 'frozen', from: 4, to: 8_990 }], effects))).toEqual([])
  })

  it.each<[string, readonly ProcessFault[]]>([
    ['no process was hit by a fault', []],
    ['another process was killed', [{ ...KILLED, process: 'w3.1' }]],
    ['its process was killed long after the mark', [{ ...KILLED, from: 11_000 }]],
    ['its process was frozen for less than the lease', [{ process: 'w1.1', kind: 'frozen', from: 8, to: 5_000 }]],
    ['its process was frozen before', [{ process: 'w1.1', kind: 'frozen', from: -9_000, to: -1 }]],
  ])('finds a second effect on a lease unexplained if %s', (_, faults) => {
    expect(laws(lease(faults))).toEqual(['no-unexplained-double-effect'])
  })

  it('requires an explanation for each further effect', () => {
    const third = [...AGAIN, done('b', 24_000, 'w3.1')]
    expect(laws(lease([KILLED], third))).toEqual(['no-unexplained-double-effect'])
  })
})
