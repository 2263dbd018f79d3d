// npm run bench -- <suite> [--n N] [--reps R] [--only scenario] [--contender part]... [--smoke] [--json] [--profiles folder]
// npm run bench -- compare [commit] [--only case]... [--reps R] [--n N] [--goal ratio] [--smoke] [--json]
// npm run bench -- record [suite]...
// npm run bench -- page
//
// Runs contenders side by side on real servers. Ratios within one run mean something; figures of one machine do not.
import { Command, InvalidArgumentError } from 'commander'
import { findServers, inBenchRun, refuse } from './bench-run.ts'
import { allSuites } from './catalogue.ts'
import { CASES } from './compare/cases.ts'
import { compare, type CompareFlags } from './compare/compare.ts'
import { compile } from './compiled.ts'
import { currentCommit } from './git.ts'
import { measure } from './measure.ts'
import { writePage } from './page/write.ts'
import { recordAll } from './record.ts'
import { textOf } from './report.ts'
import { narrowed, withoutGoals, type Suite } from './suite.ts'

interface Flags {
  readonly n?: number
  readonly reps?: number
  readonly only?: string
  readonly contender?: readonly string[]
  readonly smoke: boolean
  readonly json: boolean
  readonly profiles?: string
}

const SUITES = await allSuites()
const NAMES = SUITES.map(({ name }) => name)
const SERVERS = `
Servers: KAFKA_BROKERS, RABBITMQ_URL, REDIS_URL and DATABASE_URL where they are set, else those that the tests would find or start.`
const SCENARIOS = `
Suites and scenarios:
${SUITES.map(({ name, scenarios }) => `  ${name}: ${scenarios.map((scenario) => scenario.name).join(', ')}`).join('\n')}`
const COMPARED = `
Both are compiled, with the contenders and the dependencies of today: only the library differs. They run in pairs, one after the
other on the same messages and each as often first, so that a slow minute hits both. The ratio is the median of those of the pairs.

Cases:
${CASES.map(({ name, suite, scenario, contender }) => `  ${name}: ${suite}, ${scenario}, ${contender}`).join('\n')}
${SERVERS}`
const SMOKE = 'as few messages as show that it works, once: no figure means anything'
const JSON_ALONE = 'one JSON object on stdout, and nothing else there'

// A wrong command ends with 2, so that 1 says one thing alone: a goal was missed, or a contender failed.
const bench = new Command('bench')
  .description('What a message costs, beside others and beside other commits.')
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
bench
  .command('suite', { isDefault: true })
  .description('runs the contenders of a suite side by side, each in a process of its own')
  .argument('<suite>', NAMES.join(' | '), suiteCalled)
  .option('--n <messages>', 'messages of each scenario (default: its own)', atLeastOne)
  .option('--reps <repetitions>', "how often each contender runs (default: the scenario's own)", atLeastOne)
  .option('--only <scenario>', 'one scenario of the suite')
  .option('--contender <part...>', 'only those whose name has this part, and the ratios between them')
  .option('--smoke', SMOKE, false)
  .option('--json', JSON_ALONE, false)
  .option('--profiles <folder>', 'write a CPU profile of each process')
  .addHelpText('after', `${SERVERS}\n${SCENARIOS}`)
  .action((suite: Suite, flags: Flags) => runSuite(suite, flags))
bench
  .command('compare')
  .description('runs the same contenders with the library of another commit and with that of the working tree, in turn')
  .argument('[commit]', 'default: that of the last recorded results')
  .option('--only <case...>', 'some of the cases below (default: all)')
  .option('--reps <pairs>', 'pairs of runs of each case', atLeastOne, 5)
  .option('--n <messages>', 'messages of each run (default: those of the case)', atLeastOne)
  .option('--goal <ratio>', 'ends with exit code 1 where the rate is less than this part of what it was', ratioAbove0)
  .option('--smoke', SMOKE, false)
  .option('--json', JSON_ALONE, false)
  .addHelpText('after', COMPARED)
  .action((commit: string | undefined, flags: CompareFlags) => compare(commit, flags))
bench
  .command('record')
  .description(
    'writes bench/results: each scenario that has no run of this commit, with its own messages and repetitions; goes on where it was interrupted. Writes the page when all have one',
  )
  .argument('[suite...]', `${NAMES.join(' | ')} (default: all)`, withSuite)
  .addHelpText('after', SERVERS)
  .action((suites: readonly Suite[]) => recordAll(suites.length > 0 ? suites : SUITES))
bench
  .command('page')
  .description('writes docs/performance.md from bench/results, where each suite must be of one commit')
  .action(() => {
    try {
      console.log(writePage())
    } catch (error) {
      refuse((error as Error).message)
    }
  })
bench.addHelpText('after', SCENARIOS)
await bench.parseAsync()

async function runSuite(suite: Suite, flags: Flags): Promise<void> {
  const { n, reps, only, contender: parts, smoke, json, profiles } = flags
  const named = suite.scenarios.filter(({ name }) => only === undefined || name === only)
  if (named.length === 0) {
    return refuse(`--only: expected one of ${suite.scenarios.map(({ name }) => name).join(', ')}, got ${only}`)
  }
  const wanted = parts === undefined ? named : named.map((scenario) => narrowed(scenario, parts))
  const scenarios = (smoke ? wanted.map(withoutGoals) : wanted).filter(({ contenders }) => contenders.length > 0)
  if (scenarios.length === 0) {
    const names = new Set(named.flatMap(({ contenders }) => contenders.map(({ name }) => name)))
    return refuse(`--contender: expected a part of one of ${[...names].join('; ')}, got ${parts?.join(' or ')}`)
  }
  await inBenchRun(async () => {
    const report = await measure(suite, scenarios, {
      commit: currentCommit(),
      messages: n,
      repetitions: reps,
      isSmoke: smoke,
      child: await compile(),
      servers: await findServers(new Set(scenarios.flatMap(({ needs }) => needs))),
      profiles,
      progress: (line) => console.error(line),
    })
    console.log(json ? JSON.stringify(report, undefined, 2) : textOf(report))
  })
}

function suiteCalled(given: string): Suite {
  const suite = SUITES.find(({ name }) => name === given)
  if (suite === undefined) throw new InvalidArgumentError(`Expected one of ${NAMES.join(', ')}.`)
  return suite
}

function withSuite(given: string, before: readonly Suite[] | undefined): readonly Suite[] | undefined {
  return [...(before ?? []), suiteCalled(given)]
}

function atLeastOne(given: string): number {
  const count = Number(given)
  if (!Number.isSafeInteger(count) || count < 1) throw new InvalidArgumentError('Expected a whole number from 1.')
  return count
}

function ratioAbove0(given: string): number {
  const goal = Number(given)
  if (!(goal > 0 && Number.isFinite(goal))) throw new InvalidArgumentError('Expected a number above 0, such as 0.95.')
  return goal
}
