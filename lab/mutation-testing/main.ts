// npm run mutants [-- --only NAME] [--layer L] [--record]
//
// Plants faults in the library, one at a time, and runs what must find them. Ends with 0 if each was found, with 1 if one lives or
// could not be judged, with 2 for a wrong command.

import { parseArgs } from 'node:util'
import { recordPart } from '../proof/part.ts'
import { addressesOfAll } from '../../test/kit/servers/addresses.ts'
import { closeRun, openRun } from '../../test/kit/servers/test-run.ts'
import { ALL_MUTANTS } from '../mutants/all-mutants.ts'
import { lineOf, type Tried } from './outcome.ts'
import type { Mutant } from '../mutants/mutant.ts'
import { partOf } from './report.ts'
import { trySimulated } from './try-simulated.ts'
import { tryTested } from './try-tested.ts'

const LAYERS: readonly Mutant['layer'][] = ['simulator', 'corpus', 'real servers', 'unit']

const USAGE = `usage: npm run mutants -- [options]
  --only NAME  one of them, again and again for several: ${ALL_MUTANTS.map(({ name }) => name).join(', ')}
  --layer L    those of one layer: ${LAYERS.map((layer) => `'${layer}'`).join(', ')}
  --record     write docs/proof/mutants.json; only of all`

interface Command {
  readonly mutants: readonly Mutant[]
  readonly isRecorded: boolean
}

const interrupted = new AbortController()

function readCommand(args: readonly string[]): Command {
  const text = { type: 'string' } as const
  const options = { only: { ...text, multiple: true }, layer: text, record: { type: 'boolean' } } as const
  const { only, layer, record: isRecorded = false } = parseArgs({ args: [...args], options }).values
  const unknown = only?.find((name) => !ALL_MUTANTS.some((one) => one.name === name))
  if (unknown !== undefined) throw new TypeError(`--only: unknown: ${unknown}`)
  const mutants = ALL_MUTANTS.filter((one) => only?.includes(one.name) !== false && one.layer === (layer ?? one.layer))
  if (mutants.length === 0) throw new TypeError(`--layer: none of them is of layer '${layer}'`)
  if (isRecorded && mutants.length < ALL_MUTANTS.length) throw new TypeError('--record: expected a run of all')
  return { mutants, isRecorded }
}

async function main(): Promise<number> {
  let command: Command
  try {
    command = readCommand(process.argv.slice(2))
  } catch (error) {
    console.error(`${(error as Error).message}\n${USAGE}`)
    return 2
  }
  const { mutants, isRecorded } = command
  const startedAt = performance.now()
  const tried: Tried[] = []
  const onTried = (one: Tried): void => {
    tried.push(one)
    console.log(lineOf(one))
  }
  const [simulated, tested] = [mutants.filter(isSimulated), mutants.filter((one) => !isSimulated(one))]
  await trySimulated(simulated, onTried)
  await tryOnServers(tested, onTried)
  const seconds = (performance.now() - startedAt) / 1_000
  const killed = tried.filter(({ outcome }) => outcome.kind === 'killed').length
  console.log(`${killed} of ${tried.length} killed in ${Math.round(seconds)} s`)
  if (isRecorded) recordPart('mutants', partOf(tried, seconds))
  return killed === tried.length ? 0 : 1
}

function isSimulated({ layer }: Mutant): boolean {
  return layer === 'simulator'
}

async function tryOnServers(mutants: readonly Mutant[], onTried: (tried: Tried) => void): Promise<void> {
  if (mutants.length === 0) return
  await openRun()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => void endBy(signal))
  try {
    await tryTested(mutants, { env: await addressesOfAll(), signal: interrupted.signal, onTried })
  } finally {
    await closeRun()
  }
}

/** Stops everything that was started. */
async function endBy(signal: NodeJS.Signals): Promise<void> {
  interrupted.abort()
  try {
    await closeRun()
  } finally {
    process.kill(process.pid, signal)
  }
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    if (interrupted.signal.aborted) return
    console.error(error)
    process.exit(1)
  },
)
