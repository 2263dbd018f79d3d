import type { Report } from '../report.ts'
import { chartOf } from './chart.ts'
import { sectionOf } from './sections.ts'

export const PAGE = 'docs/performance.md'
/** Holds the charts and nothing else. */
export const CHARTS = 'docs/performance'

const BEGIN = '<!-- results: written by npm run fix from bench/results, never by hand -->'
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

/** By the names of their files. */
export function chartsOf(reports: ReadonlyMap<string, Report>): ReadonlyMap<string, string> {
  return new Map(
    [...reports].flatMap(([suite, report]) => {
      const chart = chartOf(report)
      return chart === undefined ? [] : [[`${suite}.svg`, chart] as const]
    }),
  )
}
