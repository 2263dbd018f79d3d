import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { SUITE_NAMES } from '../../../bench/catalogue.ts'
import { drawn, type Chart } from '../../../bench/page/chart.ts'
import { CHARTS } from '../../../bench/page/charts.ts'
import { missedIn, missedTable, whyOf } from '../../../bench/page/missed.ts'
import { summary } from '../../../bench/page/summary.ts'
import { WHY } from '../../../bench/page/why.ts'
import { filesOf, FOLDER, mixtureIn, PAGE, withResults } from '../../../bench/page/page.ts'
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
  it('is what the recorded runs say, with its charts and tables and nothing else: npm run bench -- page', () => {
    const reports = recordedReports()
    const page = readFileSync(PAGE, 'utf8')
    expect(page).toBe(withResults(page, SUITE_NAMES, reports))
    expect(mixtureIn(reports)).toBeUndefined()
    const files = existsSync(FOLDER) ? readdirSync(FOLDER) : []
    expect(new Map(files.map((file) => [file, readFileSync(join(FOLDER, file), 'utf8')]))).toEqual(
      filesOf(SUITE_NAMES, reports),
    )
  })

  it('says why for each goal that was missed, and for no other', () => {
    const missed = missedIn(recordedReports().values())
    expect(missed.filter((one) => whyOf(one) === undefined)).toEqual([])
    const used = new Set(missed.map((one) => whyOf(one)))
    expect(Object.entries(WHY).filter(([, why]) => !used.has(why))).toEqual([])
  })

  it('has four charts, all of recorded scenarios', () => {
    const reports = recordedReports()
    expect(CHARTS).toHaveLength(4)
    for (const { suite: name, scenario: wanted } of CHARTS.flatMap(({ of }) => of)) {
      expect(reports.get(name)?.scenarios.map((one) => one.name)).toContain(wanted)
    }
  })

  it('begins with rates and delays beside the same work by hand, of what is recorded', () => {
    const [rates = '', delays = '', outbox = ''] = summary(recordedReports())
    expect(rates.split('\n')).toHaveLength(10)
    expect(outbox).toMatch(/\| 500 messages a second, [\w ]+ (?:\| [\d.]+ \/ [\d.]+ ){3}\|/)
    expect(rates).toMatch(/\| Kafka, `redisLease` \| [\d,]+ \| \d+ \| [\d,]+ \| \d+ \|/)
    expect(delays.split('\n')).toHaveLength(6)
    expect(delays).toMatch(/\| RabbitMQ, `postgresInbox` (?:\| [\d.]+ \/ [\d.]+ \([\d.]+ \/ [\d.]+\) ){3}\|/)
    expect(summary(new Map())).toEqual([])
  })

  it('lists goals that were missed, with the reason of the contender or of its scenario', () => {
    const missed = missedIn([report])
    const rate = 'rate of ours : by hand: 2.00 (1.50 to 3.00), goal >= 2.1'
    const bytes = 'ours: bytes each: 10.0, goal <= 9'
    const table = missedTable(missed, { 'made, one': 'the keys | the rows' })
    expect(table).toContain(`| made, one | ${rate}<br>${bytes} | the keys \\| the rows |`)
    expect(missedTable(missed, { 'made, one': 'all', 'made, one: ours': 'its own' })).toMatch(/\| its own \|$/m)
    expect(withResults(MARKED, ['made'], new Map([['made', report]]))).toContain(`| made, one | ${rate}`)
  })

  it('judges a bound by the median, or by the worst of the repetitions where it is to hold in each', () => {
    const bound = { of: 'ours', figure: 'repeated', most: 64, found: spreadOf([0, 1, 65]) }
    const bounds: ScenarioReport['bounds'] = [bound, { ...bound, in: 'each' }]
    expect(missedIn([{ ...report, scenarios: [{ ...scenario, ratios: [], bounds }] }])).toHaveLength(1)
  })

  it('keeps what people wrote, replaces what was there, and can be written again', () => {
    const page = withResults(MARKED, ['made'], new Map([['made', report]]))
    expect(page).toMatch(/^written by people\n\n/)
    expect(page).toMatch(/\n\nalso by people$/)
    expect(page).not.toContain('old figures')
    expect(withResults(page, ['made'], new Map([['made', report]]))).toBe(page)
  })

  it('refuses results of a suite that is gone, and a page without a place for them', () => {
    expect(() => withResults(MARKED, [], new Map([['made', report]]))).toThrow('no suite is called made')
    expect(() => withResults('no marks', [], new Map())).toThrow('expected the lines')
  })
})

describe('the tables of all results', () => {
  it('show medians, ranges, and which goals were met, of which day and commit', () => {
    const text = filesOf(['made'], new Map([['made', report]])).get('results.txt') ?? ''
    expect(text).toContain('npm run bench -- made --- 2026-01-02, commit abc')
    expect(text).toMatch(/ours +1,000 +1,000 +900 - 1,200 +10\.0/)
    expect(text).toContain('ours : by hand = 2.00 (1.50 - 3.00), goal 2: met')
    expect(text).toContain('ours : by hand = 2.00 (1.50 - 3.00), goal 2.1: missed')
  })
})

describe('results that make no page', () => {
  it('are those of a suite at several commits: the message says which, and what to do', () => {
    const mixture = mixtureIn(new Map([recordedAt('cpu', 'aaa'), recordedAt('kafka', 'aaa', 'bbb')]))
    expect(mixture).toMatch(/of a suite to be of one commit, .*: npm run bench -- record/)
    expect(mixture).toMatch(/^ {2}kafka: aaa, bbb$/m)
    expect(mixture).not.toContain('cpu')
  })

  it('are those of changes that were not committed, which nobody can run again', () => {
    expect(mixtureIn(new Map([recordedAt('cpu', 'aaa-changed')]))).toContain('cpu: aaa-changed')
  })

  it('are not those of suites at one commit each, and not none', () => {
    expect(mixtureIn(new Map([recordedAt('cpu', 'aaa'), recordedAt('kafka', 'bbb', 'bbb')]))).toBeUndefined()
    expect(mixtureIn(new Map())).toBeUndefined()
  })
})

const CHART: Chart = {
  file: 'made.svg',
  title: 'bars & <lengths>',
  unit: '/s',
  of: [{ suite: 'made', scenario: 'one', title: 'loops & <lists>' }],
}

describe('a chart', () => {
  it('draws medians as bars to one scale, and ranges as whiskers over them', () => {
    const chart = drawn(CHART, new Map([['made', report]])) ?? ''
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
    const chart = drawn(CHART, new Map([['made', report]])) ?? ''
    expect(chart).toContain('prefers-color-scheme: dark')
    expect(chart).toContain('loops &amp; &lt;lists&gt;')
    expect(chart).not.toContain('<script')
    expect(chart.match(/<(?!\/|style|svg|title|rect|path|text)/g)).toBeNull()
  })

  it('draws another figure than the rate, also one that is nothing', () => {
    const found = scenario.contenders.map((one, at) => ({ ...one, figures: { repeated: spreadOf([at * 4]) } }))
    const reports = new Map([['made', { ...report, scenarios: [{ ...scenario, contenders: found }] }]])
    const chart = drawn({ ...CHART, figure: 'repeated', unit: ' times' }, reports) ?? ''
    expect([...chart.matchAll(/>([\d.]+) times</g)].map(([, number]) => number)).toEqual(['0', '4'])
  })

  it('is none of what is not recorded', () => {
    expect(drawn(CHART, new Map())).toBeUndefined()
  })
})
