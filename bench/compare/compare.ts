import { findServers, inBenchRun, refuse } from '../bench-run.ts'
import { compile, compileCommit } from '../compiled.ts'
import { commitCalled, committed, currentCommit } from '../git.ts'
import { describeMachine } from '../machine.ts'
import { recordedReports } from '../page/results.ts'
import { loadSuite } from '../catalogue.ts'
import { CASES, type Case } from './cases.ts'
import { comparisonText, isFailure, type CaseReport, type Comparison } from './comparison.ts'
import { runPairs, scenarioOf } from './pairs.ts'

export interface CompareFlags {
  readonly only?: readonly string[]
  readonly reps: number
  readonly n?: number
  readonly goal?: number
  readonly smoke: boolean
  readonly json: boolean
}

/** Runs the same contenders with the library of `commit` and with that of the working tree, in turn. */
export async function compare(commit: string | undefined, flags: CompareFlags): Promise<void> {
  const { only, reps, n, goal, smoke, json } = flags
  const unknown = only?.filter((name) => CASES.every((one) => one.name !== name)) ?? []
  if (unknown.length > 0) {
    return refuse(`--only: expected some of ${CASES.map(({ name }) => name).join(', ')}, got ${unknown.join(', ')}`)
  }
  if (smoke && goal !== undefined) return refuse('--goal: a smoke run has no figure that means anything: leave one out')
  let before: string
  try {
    before = commit === undefined ? lastRecorded() : commitCalled(commit)
  } catch (error) {
    return refuse((error as Error).message)
  }
  const cases = CASES.filter(({ name }) => only?.includes(name) ?? true)
  await inBenchRun(async () => {
    const now = currentCommit()
    say(`compiling ${before} and the working tree`)
    const builds = { before: await compileCommit(before), now: await compile() }
    const scenarios = await Promise.all(cases.map(scenarioOf))
    const servers = await findServers(new Set(scenarios.flatMap(({ scenario: { needs } }) => needs)))
    const pairs = smoke ? 1 : reps
    const reports: CaseReport[] = []
    for (const one of cases) {
      reports.push(await runPairs(one, builds, { pairs, messages: n, servers, isSmoke: smoke, progress: say }))
    }
    const machine = await describeMachine(servers, await packagesOf(cases))
    const comparison: Comparison = { machine, smoke, before, now, pairs, goal, cases: reports }
    console.log(json ? JSON.stringify(comparison, undefined, 2) : comparisonText(comparison))
    if (isFailure(comparison)) process.exitCode = 1
  })
}

function say(line: string): void {
  console.error(line)
}

/** The commit of the last recorded run that this clone has: results may be of one that was rebased since. */
function lastRecorded(): string {
  const runs = [...recordedReports().values()].flatMap(({ scenarios }) => scenarios.map(({ run }) => run))
  const [last, ...others] = runs.toSorted((a, b) => b.at.localeCompare(a.at)).map((run) => committed(run.commit))
  if (last === undefined) throw new Error('no results are recorded in bench/results: name a commit')
  for (const commit of [last, ...others]) {
    try {
      return commitCalled(commit)
    } catch {
      continue
    }
  }
  return commitCalled(last)
}

async function packagesOf(cases: readonly Case[]): Promise<readonly string[]> {
  const suites = await Promise.all([...new Set(cases.map(({ suite }) => suite))].map(loadSuite))
  return [...new Set(suites.flatMap((suite) => suite?.packages ?? []))]
}
