// npm run mutants [-- --only NAME] [--layer L] [--record]
//
// Plants faults in the library, one at a time, and runs what must find them. Ends with 0 if each was found, with 1 if one lives or
// could not be judged, with 2 for a wrong command.

import { parseArgs } from 'node:util'
import { recordPart } from '../proof/part.ts'
import { addressesOfAll } from '../../test/kit/servers/addresses.ts'
import { runCommand } from '../kit/command.ts'
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

async function run({ mutants, isRecorded }: Command, signal: AbortSignal): Promise<number> {
  const startedAt = performance.now()
  const tried: Tried[] = []
  const onTried = (one: Tried): void => {
    tried.push(one)
    console.log(lineOf(one))
  }
  const [simulated, tested] = [mutants.filter(isSimulated), mutants.filter((one) => !isSimulated(one))]
  await trySimulated(simulated, onTried)
  if (tested.length > 0) await tryTested(tested, { env: await addressesOfAll(), signal, onTried })
  const seconds = (performance.now() - startedAt) / 1_000
  const killed = tried.filter(({ outcome }) => outcome.kind === 'killed').length
  console.log(`${killed} of ${tried.length} killed in ${Math.round(seconds)} s`)
  if (isRecorded) recordPart('mutants', partOf(tried, seconds))
  return killed === tried.length ? 0 : 1
}

function isSimulated({ layer }: Mutant): boolean {
  return layer === 'simulator'
}

await runCommand({ usage: USAGE, read: readCommand, run })
