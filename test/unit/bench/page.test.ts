import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { SUITE_NAMES } from '../../../bench/catalogue.ts'
import { chartOf } from '../../../bench/page/chart.ts'
import { CHARTS, chartsOf, mixtureIn, PAGE, withResults } from '../../../bench/page/page.ts'
import { recordedReports } from '../../../bench/page/results.ts'
import type { Report, ScenarioReport } from '../../../bench/report.ts'
import { spreadOf } from '../../../bench/statistics.ts'

const contender = (name: string, rates: readonly number[]): ScenarioReport['contenders'][number] => ({
  name,
  messages: 1_000,
  rate: spreadOf(rates),
  cpuMicroseconds: spreadOf([10]),
  figures: {},
})
const scenario: ScenarioReport = {
  name: 'one',
  title: 'loops & <lists>',
  run: { at: '2026-01-02T03:04:05.000Z', commit: 'abc', load: { start: 1, end: 2 } },
  repetitions: 3,
  contenders: [contender('by hand', [400, 500, 600]), contender('ours', [900, 1_000, 1_200])],
  ratios: [
    { of: 'ours', to: 'by hand', goal: 2, rate: spreadOf([1.5, 2, 3]), cpu: spreadOf([0.5]) },
    { of: 'ours', to: 'by hand', goal: 2.1, rate: spreadOf([1.5, 2, 3]), cpu: spreadOf([0.5]) },
  ],
  bounds: [{ of: 'ours', figure: 'bytes each', most: 9, found: spreadOf([10]) }],
}
const machine = { node: 'v1', system: 'S', processor: 'P', cores: 1, memoryGb: 1, versions: { Redis: '7' } }
const report: Report = { machine, suite: 'made', smoke: false, scenarios: [scenario] }

/** A suite with a scenario of each of these commits. */
const recordedAt = (suite: string, ...commits: readonly string[]): readonly [string, Report] => [
  suite,
  { ...report, suite, scenarios: commits.map((commit) => ({ ...scenario, run: { ...scenario.run, commit } })) },
]

const MARKED = [
  'written by people',
  '<!-- results: written by npm run bench -- page from bench/results, never by hand -->',
  'old figures',
  '<!-- end of results -->',
  'also by people',
].join('\n\n')

describe('docs/performance.md', () => {
  it('is what the recorded runs say, with their charts and no others: npm run bench -- page', () => {
    const reports = recordedReports()
    const page = readFileSync(PAGE, 'utf8')
    expect(page).toBe(withResults(page, SUITE_NAMES, reports))
    expect(mixtureIn(reports)).toBeUndefined()
    const files = existsSync(CHARTS) ? readdirSync(CHARTS) : []
    const drawn = new Map(files.map((file) => [file, readFileSync(join(CHARTS, file), 'utf8')]))
    expect(drawn).toEqual(chartsOf(reports))
  })

  it('shows medians, ranges, and which goals were met, and says what was never recorded', () => {
    const page = withResults(MARKED, ['made', 'other'], new Map([['made', report]]))
    expect(page).toContain('| ours | 1,000 | 1,000 | 900 - 1,200 | 10.0 |')
    expect(page).toContain('| ours : by hand | 2.00 (1.50 - 3.00) | 0.50 | >= 2 | met |')
    expect(page).toContain('| ours : by hand | 2.00 (1.50 - 3.00) | 0.50 | >= 2.1 | **missed** |')
    expect(page).toContain('| ours: bytes each | 10.0 |  | <= 9 | **missed** |')
    expect(page).toContain('2026-01-02, commit abc, medians of 3')
    expect(page).toContain('(performance/made.svg)')
    expect(page).toContain('### other\n\nNot recorded yet. Run it: `npm run bench -- other`')
  })

  it('judges a bound by the median, or by the worst of the repetitions where it is to hold in each', () => {
    const bound = { of: 'ours', figure: 'repeated', most: 64, found: spreadOf([0, 1, 65]) }
    const bounds: ScenarioReport['bounds'] = [bound, { ...bound, in: 'each' }]
    const page = withResults(MARKED, ['made'], new Map([['made', { ...report, scenarios: [{ ...scenario, bounds }] }]]))
    expect(page).toContain('| ours: repeated | 1.0 (0.0 - 65.0) |  | <= 64 | met |')
    expect(page).toContain('| ours: repeated | 1.0 (0.0 - 65.0) |  | <= 64 | **missed** |')
  })

  it('keeps what people wrote, replaces what was there, and can be written again', () => {
    const suites = ['made']
    const page = withResults(MARKED, suites, new Map([['made', report]]))
    expect(page).toMatch(/^written by people\n\n/)
    expect(page).toMatch(/\n\nalso by people$/)
    expect(page).not.toContain('old figures')
    expect(withResults(page, suites, new Map([['made', report]]))).toBe(page)
  })

  it('refuses results of a suite that is gone, and a page without a place for them', () => {
    expect(() => withResults(MARKED, ['other'], new Map([['made', report]]))).toThrow('no suite is called made')
    expect(() => withResults('no marks', [], new Map())).toThrow('expected the lines')
  })
})

describe('results that make no page', () => {
  it('are those of several commits, between suites or inside one: the message says which, and what to do', () => {
    const mixture = mixtureIn(new Map([recordedAt('cpu', 'aaa'), recordedAt('kafka', 'aaa', 'bbb')]))
    expect(mixture).toMatch(/expected runs of one commit, .*: npm run bench -- record/)
    expect(mixture).toMatch(/^ {2}aaa: cpu, kafka$/m)
    expect(mixture).toMatch(/^ {2}bbb: kafka$/m)
  })

  it('are those of changes that were not committed, which nobody can run again', () => {
    expect(mixtureIn(new Map([recordedAt('cpu', 'aaa-changed')]))).toContain('aaa-changed: cpu')
  })

  it('are not those of one commit, and not none', () => {
    expect(mixtureIn(new Map([recordedAt('cpu', 'aaa'), recordedAt('kafka', 'aaa', 'aaa')]))).toBeUndefined()
    expect(mixtureIn(new Map())).toBeUndefined()
  })
})

describe('the chart of a suite', () => {
  it('draws medians as bars to one scale, and ranges as whiskers over them', () => {
    const chart = chartOf(report) ?? ''
    const bars = [...chart.matchAll(/class="(own|other)" x="(\d+)" y="\d+" width="(\d+)"/g)]
    expect(bars.map(([, side]) => side)).toEqual(['other', 'own'])
    const [left, other, own] = [Number(bars[0]?.[2]), Number(bars[0]?.[3]), Number(bars[1]?.[3])]
    expect(other / own).toBeCloseTo(0.5, 2)
    const whiskers = [...chart.matchAll(/v8M(\d+) \d+H(\d+)M/g)].map(([, from, to]) => [Number(from), Number(to)])
    const most = whiskers[1]?.[1] ?? 0
    expect((most - left) / own).toBeCloseTo(1.2, 2)
    expect(((whiskers[0]?.[0] ?? 0) - left) / own).toBeCloseTo(0.4, 2)
  })

  it('can be read in the dark, runs no script, and shows text as text', () => {
    const chart = chartOf(report) ?? ''
    expect(chart).toContain('prefers-color-scheme: dark')
    expect(chart).toContain('loops &amp; &lt;lists&gt;')
    expect(chart).not.toContain('<script')
    expect(chart.match(/<(?!\/|style|svg|title|rect|path|text)/g)).toBeNull()
  })

  it('is none where nothing is compared', () => {
    expect(chartOf({ ...report, scenarios: [{ ...scenario, contenders: [contender('ours', [1])] }] })).toBeUndefined()
  })
})
