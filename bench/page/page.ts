import { isChanged } from '../git.ts'
import { textOf, type Report } from '../report.ts'
import { drawn } from './chart.ts'
import { CHARTS } from './charts.ts'
import { missedIn, missedTable } from './missed.ts'
import { summary } from './summary.ts'

export const PAGE = 'docs/performance.md'
/** Holds the charts, the tables of all results, and nothing else. */
export const FOLDER = 'docs/performance'
const TABLES = 'results.txt'

const BEGIN = '<!-- results: written by npm run bench -- page from bench/results, never by hand -->'
const END = '<!-- end of results -->'

/** The page with charts and missed goals between its marks; what people wrote around them stays. */
export function withResults(page: string, suites: readonly string[], reports: ReadonlyMap<string, Report>): string {
  const unknown = [...reports.keys()].filter((name) => !suites.includes(name))
  if (unknown.length > 0) throw new Error(`bench/results: no suite is called ${unknown.join(', ')}`)
  const [before, after] = [page.indexOf(BEGIN), page.indexOf(END)]
  if (before < 0 || after < before) throw new Error(`${PAGE}: expected the lines\n${BEGIN}\n${END}`)
  const files = filesOf(suites, reports)
  const charts = CHARTS.filter(({ file }) => files.has(file))
  const missed = missedIn(inOrder(suites, reports))
  const parts = [
    ...summary(reports),
    ...charts.map(({ file, title }) => `**${title}**\n\n![${title}](performance/${file})`),
    '## What was missed',
    missed.length === 0 ? 'No goal.' : missedTable(missed),
  ]
  return [page.slice(0, before) + BEGIN, ...parts, page.slice(after)].join('\n\n')
}

function inOrder(suites: readonly string[], reports: ReadonlyMap<string, Report>): readonly Report[] {
  return suites.flatMap((suite) => reports.get(suite) ?? [])
}

/**
 * Why these results make no page: a suite whose scenarios ran at several commits, or at changes that were never committed,
 * compares nothing. `undefined` where they make one.
 */
export function mixtureIn(reports: ReadonlyMap<string, Report>): string | undefined {
  const found = [...reports.values()].flatMap(({ suite, scenarios }) => {
    const commits = [...new Set(scenarios.map(({ run }) => run.commit))]
    return commits.length <= 1 && !commits.some(isChanged) ? [] : [`  ${suite}: ${commits.join(', ')}`]
  })
  if (found.length === 0) return undefined
  return [
    'bench/results: expected the runs of a suite to be of one commit, without changes on top of it: npm run bench -- record. Found:',
    ...found,
  ].join('\n')
}

/** What lies in `FOLDER`, by the names of the files. */
export function filesOf(suites: readonly string[], reports: ReadonlyMap<string, Report>): ReadonlyMap<string, string> {
  const charts = CHARTS.flatMap((chart) => {
    const svg = drawn(chart, reports)
    return svg === undefined ? [] : [[chart.file, svg] as const]
  })
  const tables = inOrder(suites, reports).map((report) => `${headOf(report)}\n${textOf(report)}\n`)
  return new Map([...charts, ...(tables.length === 0 ? [] : [[TABLES, tables.join('\n\n')] as const])])
}

function headOf({ suite, scenarios }: Report): string {
  const [first] = scenarios
  return `--- npm run bench -- ${suite} --- ${first === undefined ? '' : `${first.run.at.slice(0, 10)}, commit ${first.run.commit}`}`
}
