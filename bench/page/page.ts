import { isChanged } from '../git.ts'
import type { Report } from '../report.ts'
import { chartOf } from './chart.ts'
import { sectionOf } from './sections.ts'

export const PAGE = 'docs/performance.md'
/** Holds the charts and nothing else. */
export const CHARTS = 'docs/performance'

const BEGIN = '<!-- results: written by npm run bench -- page from bench/results, never by hand -->'
const END = '<!-- end of results -->'

/** The page with the results of all suites between its marks; what people wrote around them stays. */
export function withResults(page: string, suites: readonly string[], reports: ReadonlyMap<string, Report>): string {
  const unknown = [...reports.keys()].filter((name) => !suites.includes(name))
  if (unknown.length > 0) throw new Error(`bench/results: no suite is called ${unknown.join(', ')}`)
  const [before, after] = [page.indexOf(BEGIN), page.indexOf(END)]
  if (before < 0 || after < before) throw new Error(`${PAGE}: expected the lines\n${BEGIN}\n${END}`)
  const charts = chartsOf(reports)
  const sections = suites.map((suite) => {
    const file = `${suite}.svg`
    return sectionOf(suite, reports.get(suite), charts.has(file) ? `performance/${file}` : undefined)
  })
  return [page.slice(0, before) + BEGIN, ...sections, page.slice(after)].join('\n\n')
}

/**
 * Why these results make no page: those of several commits, or of changes that were never committed, compare nothing.
 * `undefined` where they make one.
 */
export function mixtureIn(reports: ReadonlyMap<string, Report>): string | undefined {
  const byCommit = new Map<string, Set<string>>()
  for (const { suite, scenarios } of reports.values()) {
    for (const { run } of scenarios) byCommit.set(run.commit, (byCommit.get(run.commit) ?? new Set()).add(suite))
  }
  if (byCommit.size <= 1 && ![...byCommit.keys()].some(isChanged)) return undefined
  const found = [...byCommit].map(([commit, suites]) => `  ${commit}: ${[...suites].join(', ')}`)
  return [
    'bench/results: expected runs of one commit, without changes on top of it: npm run bench -- record. Found:',
    ...found,
  ].join('\n')
}

/** By the names of their files. */
export function chartsOf(reports: ReadonlyMap<string, Report>): ReadonlyMap<string, string> {
  return new Map(
    [...reports].flatMap(([suite, report]) => {
      const chart = chartOf(report)
      return chart === undefined ? [] : [[`${suite}.svg`, chart] as const]
    }),
  )
}
