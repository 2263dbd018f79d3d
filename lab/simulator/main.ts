// npm run sim -- --seeds A..B [--only N] [--mutant NAME] [--canary] [--record]
//
// Ends with 0 if every schedule was as promised, or a mutant was found; with 1 if not; with 2 for a wrong command.

import { parseArgs } from 'node:util'
import { runCommand } from '../kit/command.ts'
import { SIMULATOR_MUTANTS } from '../mutants/simulator-mutants.ts'
import { recordPart } from '../proof/part.ts'
import type { Mutant } from '../mutants/mutant.ts'
import { partOf, replayOf, tallyText } from './report.ts'
import { runSeeds, type Seeds } from './run-seeds.ts'

const USAGE = `usage: npm run sim -- [options]
  --seeds A..B    schedules to run (1..20000)
  --only N        one of them, printed event by event
  --mutant NAME   with a fault in the library, which must be found: ${SIMULATOR_MUTANTS.map(({ name }) => name).join(', ')}
  --canary        every seed twice: the same history both times
  --record        write docs/proof/simulator.json`

interface Command {
  readonly seeds: Seeds
  readonly isOnly: boolean
  readonly mutant: Mutant | undefined
  readonly isCanary: boolean
  readonly isRecorded: boolean
}

function readCommand(args: readonly string[]): Command {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean' } as const
  const options = { seeds: text, only: text, mutant: text, canary: flag, record: flag }
  const { values } = parseArgs({ args: [...args], options })
  const { only, mutant: name, seeds = '1..20000', canary = false, record = false } = values
  if (only !== undefined && values.seeds !== undefined) throw new TypeError('expected --seeds or --only, got both')
  const mutant = SIMULATOR_MUTANTS.find((one) => one.name === name)
  if (name !== undefined && mutant === undefined) throw new TypeError(`--mutant: unknown: ${name}`)
  const isOnly = only !== undefined
  if (record && (isOnly || canary || mutant !== undefined)) {
    throw new TypeError('--record: expected none of --only, --canary and --mutant')
  }
  return {
    seeds: only === undefined ? readSeeds(seeds) : readSeed(only),
    isOnly,
    mutant,
    isCanary: canary,
    isRecorded: record,
  }
}

function readSeeds(text: string): Seeds {
  const [, from, to = from] = /^(\d+)(?:\.\.(\d+))?$/u.exec(text) ?? []
  const seeds = { from: Number(from), to: Number(to) }
  if (seeds.from <= seeds.to && Number.isSafeInteger(seeds.to)) return seeds
  throw new TypeError(`--seeds: expected A..B of whole numbers, such as 1..20000, got '${text}'`)
}

function readSeed(text: string): Seeds {
  const seed = /^\d+$/u.test(text) ? Number(text) : Number.NaN
  if (Number.isSafeInteger(seed)) return { from: seed, to: seed }
  throw new TypeError(`--only: expected a seed, such as 191375, got '${text}'`)
}

function onProgress(schedules: number): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${schedules.toLocaleString('en')} schedules`)
}

async function run({ seeds, mutant, isCanary, isOnly, isRecorded }: Command): Promise<number> {
  const report = await runSeeds(seeds, {
    mutant,
    onProgress,
    ...(isCanary && { digests: true }),
    ...(isOnly && { histories: true }),
  })
  for (const line of report.histories) console.log(line)
  for (const failure of report.failures.slice(0, 3)) {
    console.log(`\n== seed ${failure.seed}\n${failure.explained}\nrepeat it: ${replayOf(failure, mutant?.name)}`)
  }
  if (isCanary) {
    const again = await runSeeds(seeds, { mutant, digests: true })
    const other = [...report.digests].filter(([seed, digest]) => again.digests.get(seed) !== digest)
    console.log(`${report.digests.size - other.length} of ${report.digests.size} seeds had the same history twice`)
    if (other.length > 0) return 1
  }
  console.log(tallyText(report))
  if (mutant !== undefined) {
    const [first] = report.failures
    console.log(`mutant ${mutant.name}: ${first === undefined ? 'not found' : `found by seed ${first.seed}`}`)
    return first === undefined ? 1 : 0
  }
  if (report.failures.length > 0) return 1
  if (isRecorded) recordPart('simulator', partOf(report, seeds))
  return 0
}

await runCommand({ usage: USAGE, read: readCommand, run })
