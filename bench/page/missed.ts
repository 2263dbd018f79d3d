import { besideText, boundText, isMet, ratio, type Report, type ScenarioReport } from '../report.ts'
import { WHY } from './why.ts'

/** One goal that was missed. */
export interface Missed {
  /** Suite and scenario. */
  readonly where: string
  readonly what: string
  readonly found: string
  readonly goal: string
  /** What was not met. */
  readonly of: string
}

/** All goals that were missed, in the order of the suites. */
export function missedIn(reports: Iterable<Report>): readonly Missed[] {
  return [...reports].flatMap(({ suite, scenarios }) =>
    scenarios.flatMap((scenario) => missedOf(`${suite}, ${scenario.name}`, scenario)),
  )
}

function missedOf(where: string, { ratios, bounds }: ScenarioReport): readonly Missed[] {
  return [
    ...ratios.flatMap(({ of, to, goal, rate: { median, least, most } }) => {
      if (goal === undefined || median >= goal) return []
      const found = `${ratio(median)} (${ratio(least)} to ${ratio(most)})`
      return [{ where, of, what: `rate of ${of} : ${to}`, found, goal: `>= ${goal}` }]
    }),
    ...bounds.flatMap((bound) => {
      if (isMet(bound)) return []
      const what = `${bound.of}: ${bound.figure}${besideText(bound)}`
      return [{ where, of: bound.of, what, found: boundText(bound), goal: `<= ${bound.most}` }]
    }),
  ]
}

/** Why a goal was missed, if that was written down; of the contender, or of the scenario. */
export function whyOf({ where, of }: Missed, known: Readonly<Record<string, string>> = WHY): string | undefined {
  return known[`${where}: ${of}`] ?? known[where]
}

/** A table of the page: a row for what was missed in one scenario for one reason. */
export function missedTable(missed: readonly Missed[], known: Readonly<Record<string, string>> = WHY): string {
  const rows = new Map<string, { readonly where: string; readonly why: string; readonly goals: string[] }>()
  for (const one of missed) {
    const why = whyOf(one, known) ?? ''
    const name = `${one.where} ${why}`
    const row = rows.get(name) ?? { where: one.where, why, goals: [] }
    rows.set(name, row)
    row.goals.push(`${one.what}: ${one.found}, goal ${one.goal}`)
  }
  const cells = [...rows.values()].map(({ where, goals, why }) => [where, goals.join('<br>'), why])
  return [['scenario', 'what was found', 'why'], ['---', '---', '---'], ...cells]
    .map((row) => `| ${row.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n')
}
