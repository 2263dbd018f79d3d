// npm run chaos -- kafka [--messages 100000] [--moves 80] [--store postgres|redis] [--seed S] [--minutes M] [--planted …]
//
// Ends with 0 if nothing was lost, done twice or committed too early, with 1 if something was, with 2 for a wrong command.

import { parseArgs } from 'node:util'
import { closeRun, openRun } from '../support/servers/test-run.ts'
import { PLANTED, type ChaosOptions } from './plan.ts'
import { explain, failuresOf, figuresOf, replayOf } from './report.ts'
import { runChaos } from './run.ts'

const USAGE = `usage: npm run chaos -- kafka [options]
  --messages N    distinct IDs to send, 5% of them twice (100000)
  --moves N       partitions moved away from their leader and back; other faults in proportion (80)
  --store NAME    postgres (inbox) or redis (lease) (postgres)
  --seed N        of messages and faults (random)
  --minutes N     when a run without an end has failed (45)
  --planted NAME  a fault in the workers that must be found: ${PLANTED.join(', ')} (none)`

const DEFAULTS = { messages: '100000', moves: '80', store: 'postgres', minutes: '45' }

function readOptions(args: readonly string[]): ChaosOptions {
  const text = { type: 'string' } as const
  const options = { messages: text, moves: text, store: text, seed: text, minutes: text, planted: text }
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
  if (positionals.join(' ') !== 'kafka') throw new TypeError(`expected 'kafka', got '${positionals.join(' ')}'`)
  const {
    messages,
    moves,
    store,
    minutes,
    seed = String(Math.floor(Math.random() * 2 ** 31)),
  } = { ...DEFAULTS, ...values }
  const planted = PLANTED.find((name) => name === values.planted)
  if (values.planted !== undefined && planted === undefined) {
    throw new TypeError(`--planted: expected one of ${PLANTED.join(', ')}, got '${values.planted}'`)
  }
  if (store !== 'postgres' && store !== 'redis') {
    throw new TypeError(`--store: expected postgres or redis, got '${store}'`)
  }
  const required = {
    messages: whole('messages', messages, 1),
    moves: whole('moves', moves, 1),
    store,
    seed: whole('seed', seed, 0),
    minutes: whole('minutes', minutes, 1),
  } as const
  return planted === undefined ? required : { ...required, planted }
}

function whole(name: string, text: string, least: number): number {
  const number = Number(text)
  if (Number.isSafeInteger(number) && number >= least) return number
  throw new TypeError(`--${name}: expected a whole number from ${least}, got '${text}'`)
}

async function main(): Promise<number> {
  if (process.argv.includes('--help')) {
    console.log(USAGE)
    return 0
  }
  let options: ChaosOptions
  try {
    options = readOptions(process.argv.slice(2))
  } catch (error) {
    console.error(`${(error as Error).message}\n${USAGE}`)
    return 2
  }
  console.log(replayOf(options))
  await openRun()
  try {
    const run = await runChaos(options)
    const isGood = failuresOf(run).length === 0
    console.log(isGood ? figuresOf(run) : explain(run))
    return isGood ? 0 : 1
  } finally {
    await closeRun()
  }
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => void closeRun().finally(() => process.exit(1)))
}
process.exit(await main())
