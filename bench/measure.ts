import { available } from './available.ts'
import { oneMinuteLoad } from './bench-run.ts'
import { describeMachine, type Versions } from './machine.ts'
import { reportOf, type Report, type ScenarioReport } from './report.ts'
import { runScenario, type RunOptions } from './run-scenario.ts'
import type { Scenario, Suite } from './suite.ts'

export interface MeasureOptions extends Pick<RunOptions, 'child' | 'profiles' | 'servers' | 'isSmoke' | 'progress'> {
  readonly commit: string
  /** @defaultValue those of each scenario */
  readonly messages?: number | undefined
  /** @defaultValue those of each scenario */
  readonly repetitions?: number | undefined
}

const REPETITIONS = 3

/** Runs these scenarios of a suite, one after the other. */
export async function measure(
  suite: Suite,
  scenarios: readonly Scenario[],
  { commit, messages, repetitions, ...options }: MeasureOptions,
): Promise<Report> {
  const { servers, isSmoke, progress } = options
  const reports: ScenarioReport[] = []
  const versions: Record<string, string> = {}
  for (const wanted of scenarios) {
    const { scenario, leftOut, versions: found } = await available(wanted)
    for (const why of leftOut) progress(`${scenario.name}, left out: ${why}`)
    Object.assign(versions, found satisfies Versions)
    const at = new Date().toISOString()
    const start = oneMinuteLoad()
    const rounds = await runScenario(scenario, {
      ...options,
      suite: suite.name,
      messages: messages ?? (isSmoke ? suite.smoke : scenario.messages),
      repetitions: repetitions ?? (isSmoke ? 1 : (scenario.repetitions ?? REPETITIONS)),
    })
    reports.push(reportOf(scenario, rounds, { at, commit, load: { start, end: oneMinuteLoad() }, leftOut }))
  }
  const machine = await describeMachine(servers, suite.packages, versions)
  return { machine, suite: suite.name, smoke: isSmoke, scenarios: reports }
}
