// npm run rebalance -- [--rounds N] [--record]
//
// What a change of a group costs with each client: figures.ts says what is measured. Needs a Node that @platformatic/kafka
// supports. With `--record` the figures go into results.json, and from there to the page.

import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { kafkaVersion } from '../../test/kit/servers/kafka/version.ts'
import { startPrivateKafka } from '../../test/kit/servers/private-kafka.ts'
import { startPrivateRedis } from '../../test/kit/servers/private-redis.ts'
import { runCommand, whole } from '../kit/command.ts'
import { PAGE, withTable } from './page.ts'
import { CONTENDERS, SESSIONS, type Contender } from './plan.ts'
import { writeRecorded, type Recorded } from './recorded.ts'
import { runRound, type Round } from './round.ts'

const USAGE = `usage: npm run rebalance -- [options]
  --rounds N  of each client, in turn (5)
  --record    writes the figures and the page`

interface Wish {
  readonly rounds: number
  readonly record: boolean
}

function readWish(args: readonly string[]): Wish {
  const { values } = parseArgs({
    args: [...args],
    options: { rounds: { type: 'string', default: '5' }, record: { type: 'boolean', default: false } },
  })
  return { rounds: whole('rounds', values.rounds, 1), record: values.record }
}

async function compare({ rounds, record }: Wish): Promise<number> {
  await using kafka = await startPrivateKafka({ properties: SESSIONS })
  await using redis = await startPrivateRedis()
  const found: Record<Contender, Round[]> = { kafkajs: [], platformatic: [], 'platformatic-kip848': [] }
  for (let number = 1; number <= rounds; number++) {
    for (const contender of CONTENDERS) {
      const round = await runRound(contender, { kafka, redis }, (number - 0.5) / rounds)
      found[contender].push(round)
      console.log(`${number} of ${rounds}, ${contender}: ${JSON.stringify(round)}`)
    }
  }
  const on = new Date().toISOString().slice(0, 10)
  const recorded: Recorded = { on, kafka: kafkaVersion(), node: process.versions.node, rounds: found }
  if (record) {
    writeRecorded(recorded)
    writeFileSync(PAGE, withTable(readFileSync(PAGE, 'utf8'), recorded))
  }
  return 0
}

await runCommand({ usage: USAGE, read: readWish, run: compare })
