// npm run footprint -- [--rounds N] [--seconds N] [--record]
//
// Memory and CPU of one worker as it is deployed, idle and at 1,000 messages a second. With `--record` the figures go into
// results.json, and from there to docs/deploy.md; the package is then built and installed too, which needs Node 22.18.

import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { kafkaVersion } from '../../test/kit/servers/kafka/version.ts'
import { runCommand, whole } from '../kit/command.ts'
import { Strangers } from '../package/installed.ts'
import type { Recorded, Round } from './figures.ts'
import { PAGE, withTable } from './page.ts'
import { CASES, PACKAGES, type Case } from './plan.ts'
import { writeRecorded } from './recorded.ts'
import { keptUp, runRound } from './round.ts'

const USAGE = `usage: npm run footprint -- [options]
  --rounds N   of each worker, in turn (3)
  --seconds N  idle, and as many under load (60)
  --record     writes the figures and the page`

/** Of a round, on a machine that may be busy. */
const ATTEMPTS = 6

interface Wish {
  readonly rounds: number
  readonly seconds: number
  readonly record: boolean
}

function readWish(args: readonly string[]): Wish {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: 'string', default: '3' },
      seconds: { type: 'string', default: '60' },
      record: { type: 'boolean', default: false },
    },
  })
  const { rounds, seconds, record } = values
  return { rounds: whole('rounds', rounds, 1), seconds: whole('seconds', seconds, 1), record }
}

async function measure({ rounds, seconds, record }: Wish): Promise<number> {
  const installedMib = record ? await installed() : undefined
  const found: Record<Case, Round[]> = { 'kafka-redis': [], 'rabbitmq-postgres': [] }
  for (let number = 1; number <= rounds; number++) {
    for (const what of CASES) {
      found[what].push(await roundThatKeptUp(what, seconds, `${number} of ${rounds}`))
    }
  }
  if (installedMib === undefined) return 0
  const recorded: Recorded = {
    on: new Date().toISOString().slice(0, 10),
    node: process.versions.node,
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    kafka: kafkaVersion(),
    secondsEach: seconds,
    installedMib,
    rounds: found,
  }
  writeRecorded(recorded)
  writeFileSync(PAGE, withTable(readFileSync(PAGE, 'utf8'), recorded))
  return 0
}

async function roundThatKeptUp(what: Case, seconds: number, which: string): Promise<Round> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const round = await runRound(what, seconds).catch((error: Error) => error)
    console.log(`${which}, ${what}: ${round instanceof Error ? round.message : JSON.stringify(round)}`)
    if (!(round instanceof Error) && keptUp(round)) return round
    console.log('it did not keep up with what was sent, so this round does not count')
  }
  throw new Error(`${what}: it did not keep up in ${ATTEMPTS} rounds: try it on a machine that is less busy`)
}

/** As `npm install` leaves it in a project that has nothing else. */
async function installed(): Promise<Recorded['installedMib']> {
  using strangers = new Strangers()
  await strangers.pack()
  const sizes: Partial<Record<Case, number>> = {}
  for (const what of CASES) {
    await strangers.install(what, PACKAGES[what])
    sizes[what] = Math.round(bytesBelow(join(strangers.dir, what, 'node_modules')) / 2 ** 20)
    console.log(`${what}: node_modules of ${sizes[what]} MiB`)
  }
  return sizes as Recorded['installedMib']
}

function bytesBelow(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
}

await runCommand({ usage: USAGE, read: readWish, run: measure })
