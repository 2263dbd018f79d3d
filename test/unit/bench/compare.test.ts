import { describe, expect, it } from '@jest/globals'
import { loadSuite } from '../../../bench/catalogue.ts'
import { CASES } from '../../../bench/compare/cases.ts'
import {
  caseReportOf,
  comparisonText,
  isFailure,
  type CaseReport,
  type Comparison,
  type Pair,
} from '../../../bench/compare/comparison.ts'
import { orderOf } from '../../../bench/compare/pairs.ts'

const machine = { node: 'v1', system: 'S', processor: 'P', cores: 2, memoryGb: 1, versions: {} }
/** A case with these ratios of its rates; a message costs 10 microseconds of CPU before and 11 now. */
const caseOf = (name: string, ...ratios: readonly number[]): CaseReport =>
  caseReportOf(
    { name, title: name, load: { start: 1, end: 2 } },
    ratios.map((ratio) => ({
      before: { messages: 1_000, tookMs: 100, cpuMs: 10 },
      now: { messages: 1_000, tookMs: 100 / ratio, cpuMs: 11 },
    })),
  )
/** Runs of a thousand messages, which took that many milliseconds. */
const pair = (before: number, now: number): Pair => ({
  before: { messages: 1_000, tookMs: before, cpuMs: 1 },
  now: { messages: 1_000, tookMs: now, cpuMs: 1 },
})
const comparisonOf = (cases: readonly CaseReport[], more: Partial<Comparison> = {}): Comparison => ({
  machine,
  smoke: false,
  before: 'aaaaaaaaaaaa',
  now: 'bbbbbbbbbbbb-changed',
  pairs: 5,
  cases,
  ...more,
})

describe('the pairs of a comparison', () => {
  it('begin with each build in turn', () => {
    expect([0, 1, 2, 3].map(orderOf)).toEqual([
      ['before', 'now'],
      ['now', 'before'],
      ['before', 'now'],
      ['now', 'before'],
    ])
  })

  it('are of contenders that exist', async () => {
    for (const { suite, scenario, contender } of CASES) {
      const found = (await loadSuite(suite))?.scenarios.find(({ name }) => name === scenario)
      expect(found?.contenders.map(({ name }) => name)).toContain(contender)
    }
    expect(new Set(CASES.map(({ name }) => name)).size).toBe(CASES.length)
  })
})

describe('the report of a comparison', () => {
  it('has the median of the ratios of the pairs, not the ratio of the medians', () => {
    // A slow minute hits both runs of the second pair.
    const report = caseReportOf({ name: 'c', title: 'c', load: { start: 1, end: 2 } }, [
      pair(100, 100),
      pair(1_000, 1_000),
      pair(100, 200),
    ])
    expect(report).toMatchObject({ rate: { median: 1, least: 0.5, most: 1 } })
  })

  it('names both commits, the changes, and each case with rates, CPU, range and load', () => {
    const text = comparisonText(comparisonOf([caseOf('kafka', 0.9, 0.95, 1, 0.94, 0.96)]))
    expect(text).toContain(
      'bbbbbbbbbbbb with changes that are not committed over aaaaaaaaaaaa; medians of 5 pairs in turn',
    )
    expect(text).toMatch(/kafka +1,000 +0\.95 +0\.90 - 1\.00 +1\.10 +10,000 +9,500 +10\.0 +11\.0 +1\.00 to 2\.00/)
    expect(text).not.toMatch(/says nothing|Goal|smoke/)
  })

  it('says of a wide spread on both sides of 1 that the ratio says nothing, and of one that is on one side nothing', () => {
    const text = comparisonText(comparisonOf([caseOf('noisy', 0.85, 0.98, 1.1), caseOf('slow', 0.5, 0.6, 0.8)]))
    expect(text).toContain('noisy: the pairs differ so much that the ratio says nothing')
    expect(text).not.toContain('slow: the pairs')
  })

  it('says of one or two pairs that they show no spread', () => {
    expect(comparisonText(comparisonOf([caseOf('one', 0.9)], { pairs: 1 }))).toContain('one: 1 of at least 3 pairs')
  })

  it('has what the other commit cannot run, and why: no failure while another case runs', () => {
    const old: CaseReport = { name: 'new', failed: 'before', why: "SyntaxError: no export named 'x'" }
    const comparison = comparisonOf([old, caseOf('other', 1, 1, 1)])
    expect(comparisonText(comparison)).toContain("new: does not run on aaaaaaaaaaaa: SyntaxError: no export named 'x'")
    expect(isFailure(comparison)).toBe(false)
    expect(isFailure(comparisonOf([old]))).toBe(true)
  })

  it.each(['now', 'pair'] as const)('fails where a run fails that should not (%s)', (failed) => {
    const comparison = comparisonOf([{ name: 'broken', failed, why: 'Error: lost' }, caseOf('other', 1)])
    expect(comparisonText(comparison)).toMatch(/broken: FAILED .*: Error: lost/)
    expect(isFailure(comparison)).toBe(true)
  })

  it('has a goal that a median below it misses, and none unless it is given', () => {
    const cases = [caseOf('slower', 0.9, 0.94, 0.99), caseOf('same', 1, 1, 1)]
    expect(isFailure(comparisonOf(cases))).toBe(false)
    expect(isFailure(comparisonOf(cases, { goal: 0.93 }))).toBe(false)
    expect(isFailure(comparisonOf(cases, { goal: 0.95 }))).toBe(true)
    expect(comparisonText(comparisonOf(cases, { goal: 0.95 }))).toMatch(
      /slower: 0\.94 is below 0\.95\.\nGoal 0\.95: missed\./,
    )
    expect(comparisonText(comparisonOf(cases, { goal: 0.9 }))).toContain('Goal 0.9: met.')
  })

  it('says that the figures of a smoke run mean nothing', () => {
    const text = comparisonText(comparisonOf([caseOf('noisy', 0.5, 2)], { smoke: true, pairs: 1 }))
    expect(text).toContain('no figure means anything')
    expect(text).not.toContain('says nothing')
  })
})
