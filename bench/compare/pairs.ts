import { oneMinuteLoad } from '../bench-run.ts'
import { loadSuite } from '../catalogue.ts'
import { ratio } from '../report.ts'
import { rateOf, runRound, type Entrant, type RoundOptions } from '../run-scenario.ts'
import type { Scenario } from '../suite.ts'
import type { Case } from './cases.ts'
import { caseReportOf, type Build, type CaseReport, type Pair } from './comparison.ts'

/** The compiled `child.ts` of each. */
export type Builds = Readonly<Record<Build, string>>

export interface PairOptions extends Pick<RoundOptions, 'servers' | 'isSmoke' | 'progress'> {
  readonly pairs: number
  /** @defaultValue those of the case */
  readonly messages?: number | undefined
}

/** Who runs first in the n-th pair: each as often, so that a machine that slows down or warms up does not favour one. */
export function orderOf(pair: number): readonly [Build, Build] {
  return pair % 2 === 0 ? ['before', 'now'] : ['now', 'before']
}

/** Suite and scenario of a case. */
export async function scenarioOf({
  suite: name,
  scenario: wanted,
}: Case): Promise<{ scenario: Scenario; few: number }> {
  const suite = await loadSuite(name)
  const scenario = suite?.scenarios.find((one) => one.name === wanted)
  if (suite === undefined || scenario === undefined) throw new Error(`no such scenario: ${name}, ${wanted}`)
  return { scenario, few: suite.smoke }
}

/** Runs the contender on both builds in turn, having tried each with a few messages. */
export async function runPairs(compared: Case, builds: Builds, options: PairOptions): Promise<CaseReport> {
  const { name, suite, contender } = compared
  const { scenario, few } = await scenarioOf(compared)
  const { pairs, messages = compared.messages, isSmoke, progress, servers } = options
  const quiet = { suite, servers, profiles: undefined, progress: () => {} }
  const entrant = (build: Build): Entrant => ({ name: build, contender, child: builds[build] })
  for (const build of orderOf(0)) {
    try {
      await runRound(scenario, [entrant(build)], { ...quiet, messages: few, isSmoke: true })
    } catch (error) {
      return { name, failed: build, why: whyOf(error) }
    }
  }
  const start = oneMinuteLoad()
  const found: Pair[] = []
  const size = { messages: isSmoke ? few : messages, isSmoke }
  for (let pair = 0; pair < pairs; pair++) {
    try {
      const { before, now } = await runRound(scenario, orderOf(pair).map(entrant), { ...quiet, ...size })
      if (before === undefined || now === undefined) throw new Error('a pair has two measurements')
      found.push({ before, now })
      progress(`${name}, pair ${pair + 1} of ${pairs}: ${ratio(rateOf(now) / rateOf(before))}`)
    } catch (error) {
      return { name, failed: 'pair', why: whyOf(error) }
    }
  }
  return caseReportOf({ name, title: `${scenario.title}: ${contender}`, load: { start, end: oneMinuteLoad() } }, found)
}

/** The line that says it, of all that a process wrote before it ended. */
function whyOf(error: unknown): string {
  const lines = (error instanceof Error ? error.message : String(error)).split('\n')
  return (lines.find((line) => /^\w*(Error|Exception)\b/.test(line)) ?? lines[0] ?? '').trim()
}
