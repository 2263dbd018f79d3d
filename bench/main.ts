// npm run bench -- <suite> [--n N] [--reps R] [--only scenario] [--contender part]... [--record] [--smoke] [--json] [--profiles folder]
//
// Runs contenders side by side on real servers. Ratios within one run mean something; figures of one machine do not.
import { loadavg } from 'node:os'
import { Command, InvalidArgumentError } from 'commander'
import { CATALOGUE, type ServerName } from '../test/kit/servers/catalogue.ts'
import { sharedEndpoint } from '../test/kit/servers/server.ts'
import { closeRun, openRun } from '../test/kit/servers/test-run.ts'
import { available } from './available.ts'
import { allSuites } from './catalogue.ts'
import { compile } from './compiled.ts'
import { describeMachine, type Servers } from './machine.ts'
import { currentCommit, record } from './record.ts'
import { reportOf, textOf, type Report, type ScenarioReport } from './report.ts'
import { runScenario } from './run-scenario.ts'
import { narrowed, withoutGoals, type Suite } from './suite.ts'

interface Flags {
  readonly n?: number
  readonly reps?: number
  readonly only?: string
  readonly contender?: readonly string[]
  readonly record: boolean
  readonly smoke: boolean
  readonly json: boolean
  readonly profiles?: string
}

const SUITES = await allSuites()
const NAMES = SUITES.map(({ name }) => name)
const SERVERS = `
Servers: KAFKA_BROKERS, RABBITMQ_URL, REDIS_URL and DATABASE_URL where they are set, else those that the tests would find or start.

Suites and scenarios:
${SUITES.map(({ name, scenarios }) => `  ${name}: ${scenarios.map((scenario) => scenario.name).join(', ')}`).join('\n')}`

await new Command('bench')
  .description('Runs the contenders of a suite side by side, each in a process of its own.')
  .argument('<suite>', NAMES.join(' | '), suiteCalled)
  .option('--n <messages>', 'messages of each scenario (default: its own)', atLeastOne)
  .option('--reps <repetitions>', "how often each contender runs (default: the scenario's own)", atLeastOne)
  .option('--only <scenario>', 'one scenario of the suite')
  .option('--contender <part...>', 'only those whose name has this part, and the ratios between them')
  .option('--record', 'write what was found to bench/results/<suite>.json: all contenders, own messages', false)
  .option('--smoke', 'as few messages as show that it works, once: no figure means anything', false)
  .option('--json', 'one JSON object on stdout, and nothing else there', false)
  .option('--profiles <folder>', 'write a CPU profile of each process')
  .addHelpText('after', SERVERS)
  .action((suite: Suite, flags: Flags) => bench(suite, flags))
  .parseAsync()

async function bench(suite: Suite, flags: Flags): Promise<void> {
  const { n, reps, only, contender: parts, record: isRecorded, smoke, json, profiles } = flags
  const named = suite.scenarios.filter(({ name }) => only === undefined || name === only)
  if (named.length === 0) {
    return refuse(`--only: expected one of ${suite.scenarios.map(({ name }) => name).join(', ')}, got ${only}`)
  }
  if (isRecorded && (smoke || parts !== undefined || n !== undefined)) {
    return refuse(
      "--record: expected all contenders and the scenario's own messages: leave --smoke, --contender and --n out",
    )
  }
  const wanted = parts === undefined ? named : named.map((scenario) => narrowed(scenario, parts))
  const scenarios = (smoke ? wanted.map(withoutGoals) : wanted).filter(({ contenders }) => contenders.length > 0)
  if (scenarios.length === 0) {
    const names = new Set(named.flatMap(({ contenders }) => contenders.map(({ name }) => name)))
    return refuse(`--contender: expected a part of one of ${[...names].join('; ')}, got ${parts?.join(' or ')}`)
  }
  await openRun()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => void endBy(signal))
  try {
    const child = await compile()
    const servers = await find(new Set(scenarios.flatMap(({ needs }) => needs)))
    const reports: ScenarioReport[] = []
    const versions: Record<string, string> = {}
    const commit = currentCommit()
    for (const wantedScenario of scenarios) {
      const { scenario, leftOut, versions: found } = await available(wantedScenario)
      for (const why of leftOut) console.error(`${scenario.name}, left out: ${why}`)
      Object.assign(versions, found)
      const at = new Date().toISOString()
      const start = oneMinuteLoad()
      const rounds = await runScenario(scenario, {
        suite: suite.name,
        messages: n ?? (smoke ? suite.smoke : scenario.messages),
        repetitions: reps ?? (smoke ? 1 : scenario.repetitions),
        servers,
        isSmoke: smoke,
        child,
        profiles,
        progress: (line) => console.error(line),
      })
      reports.push(reportOf(scenario, rounds, { at, commit, load: { start, end: oneMinuteLoad() }, leftOut }))
    }
    const report: Report = {
      machine: await describeMachine(servers, suite.packages, versions),
      suite: suite.name,
      scenarios: reports,
    }
    if (isRecorded) {
      const order = suite.scenarios.map(({ name }) => name)
      console.error(`recorded in ${record(report, order)}`)
    }
    console.log(json ? JSON.stringify(report, undefined, 2) : textOf(report))
  } finally {
    await closeRun()
  }
}

function refuse(why: string): void {
  console.error(why)
  process.exitCode = 2
}

function oneMinuteLoad(): number {
  return loadavg()[0] ?? 0
}

async function find(names: ReadonlySet<ServerName>): Promise<Servers> {
  const found = [...names].map(async (name) => [
    name,
    process.env[CATALOGUE[name].variable] ?? (await sharedEndpoint(name)),
  ])
  return Object.fromEntries(await Promise.all(found)) as Servers
}

/** Servers that were started for it end with it. */
async function endBy(signal: NodeJS.Signals): Promise<void> {
  try {
    await closeRun()
  } finally {
    process.kill(process.pid, signal)
  }
}

function suiteCalled(given: string): Suite {
  const suite = SUITES.find(({ name }) => name === given)
  if (suite === undefined) throw new InvalidArgumentError(`Expected one of ${NAMES.join(', ')}.`)
  return suite
}

function atLeastOne(given: string): number {
  const count = Number(given)
  if (!Number.isSafeInteger(count) || count < 1) throw new InvalidArgumentError('Expected a whole number from 1.')
  return count
}
