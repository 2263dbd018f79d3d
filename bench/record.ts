import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findServers, inBenchRun, refuse } from './bench-run.ts'
import { compile } from './compiled.ts'
import { currentCommit, isChanged } from './git.ts'
import { measure } from './measure.ts'
import { mixtureIn } from './page/page.ts'
import { recordedReports } from './page/results.ts'
import { writePage } from './page/write.ts'
import type { Report, ScenarioReport } from './report.ts'
import type { Scenario, Suite } from './suite.ts'

const RESULTS = fileURLToPath(new URL('results', import.meta.url))

/**
 * Runs every scenario that has no recorded run of this commit, and writes the page when all have one. Each is written when it has
 * ended, so the same command goes on after an interruption.
 */
export async function recordAll(suites: readonly Suite[]): Promise<void> {
  const commit = currentCommit()
  if (isChanged(commit)) {
    return refuse('record: the working tree has changes. Commit them first: results are those of a commit')
  }
  const open = unrecorded(suites, recordedReports(), commit)
  if (open.length > 0) await inBenchRun(() => recordScenarios(open, commit))
  const mixture = mixtureIn(recordedReports())
  const left = unrecorded(suites, recordedReports(), commit)
  if (mixture === undefined && left.length === 0) console.error(`all recorded at ${commit}: wrote ${writePage()}`)
  else console.error(`${left.length} scenarios have no run of ${commit}, so the page is not written`)
}

interface Open {
  readonly suite: Suite
  readonly scenario: Scenario
}

/** In the order in which they are to run. */
export function unrecorded(
  suites: readonly Suite[],
  recorded: ReadonlyMap<string, Report>,
  commit: string,
): readonly Open[] {
  return suites.flatMap((suite) => {
    const has = (name: string): boolean =>
      recorded.get(suite.name)?.scenarios.some((one) => one.name === name && one.run.commit === commit) ?? false
    return suite.scenarios.filter(({ name }) => !has(name)).map((scenario) => ({ suite, scenario }))
  })
}

/** What fails is named, and left for the next time. */
async function recordScenarios(open: readonly Open[], commit: string): Promise<void> {
  const child = await compile()
  const servers = await findServers(new Set(open.flatMap(({ scenario }) => scenario.needs)))
  const startedAt = performance.now()
  for (const [at, { suite, scenario }] of open.entries()) {
    const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1)
    console.error(`${at + 1} of ${open.length}, after ${minutes} minutes: ${suite.name}, ${scenario.name}`)
    try {
      const needed = Object.fromEntries(scenario.needs.map((name) => [name, servers[name]]))
      const report = await measure(suite, [scenario], {
        commit,
        servers: needed,
        isSmoke: false,
        child,
        profiles: undefined,
        progress: (line) => console.error(`  ${line}`),
      })
      record(
        report,
        suite.scenarios.map(({ name }) => name),
      )
    } catch (error) {
      console.error(`FAILED: ${error instanceof Error ? error.message : String(error)}`)
      process.exitCode = 1
    }
  }
}

/** Writes `results/<suite>.json`. Scenarios that did not run now stay as they were recorded before. */
export function record(report: Report, order: readonly string[], folder: string = RESULTS): void {
  const file = join(folder, `${report.suite}.json`)
  const before = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Report) : undefined
  const scenarios = order.flatMap((name): readonly ScenarioReport[] => {
    const isOf = (scenario: ScenarioReport): boolean => scenario.name === name
    const found = report.scenarios.find(isOf) ?? before?.scenarios.find(isOf)
    return found === undefined ? [] : [found]
  })
  // A run of one scenario may have had fewer servers.
  const versions = { ...before?.machine.versions, ...report.machine.versions }
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    file,
    `${JSON.stringify({ ...report, machine: { ...report.machine, versions }, scenarios }, undefined, 2)}\n`,
  )
}
