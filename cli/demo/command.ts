import { createRequire } from 'node:module'
import { InvalidArgumentError, Option, type Command } from 'commander'
import type { End } from '../session.ts'
import { misuse } from '../exit.ts'
import { BROKERS } from './brokers.ts'
import { runDemo } from './demo.ts'
import { KILL_STEPS, type DemoRequest, type KillStep } from './request.ts'
import { STORES } from './stores.ts'

const PGLITE = '@electric-sql/pglite'

type DemoFlags = Pick<DemoRequest, 'source' | 'json' | 'onInDoubt'> &
  Partial<Pick<DemoRequest, 'input' | 'store' | 'state' | 'effects' | 'killAt'>>

const EXAMPLES = `
Examples:
  consume-once demo                                      embedded: broker in memory, inbox in PGlite where that is installed
  consume-once demo --source kafka --store postgres      the same job on real servers
  consume-once demo --kill-at handled:500                SIGKILL after 500 effects; run again to go on
  kcat -b … -t sms -C -e -J | consume-once demo --input -

Servers, by environment (with these defaults):
  KAFKA_BROKERS  127.0.0.1:9092                  RABBITMQ_URL  amqp://guest:guest@127.0.0.1:5672
  REDIS_URL      redis://127.0.0.1:6379          DATABASE_URL  postgres://postgres:postgres@127.0.0.1:5432/postgres

Exit code 0: nothing lost, no effect twice. 1: something was. 2: usage. 3: refused. 4: a server cannot be reached.`

export function addDemo(program: Command, end: End): void {
  program
    .command('demo')
    .description('Handles real SMS notifications once each, through redeliveries, re-sends, a rebalance and crashes.')
    .option(
      '--input <file>',
      'messages as `kcat -J` prints them, one a line; - for standard input (default: the SMS example)',
    )
    .addOption(
      new Option('--source <broker>', 'where messages come from')
        .choices(Object.keys(BROKERS))
        .env('CONSUME_ONCE_DEMO_SOURCE')
        .default('memory'),
    )
    .addOption(
      new Option('--store <store>', 'where records live (default: pglite, or memory where that is not installed)')
        .choices(Object.keys(STORES))
        .env('CONSUME_ONCE_DEMO_STORE'),
    )
    .option('--state <dir>', 'folder of this demo; run again on it to go on (default: .consume-once-demo/<store>)')
    .option('--json', 'one JSON object on stdout, and nothing else there', false)
    .option('--effects <file>', 'write one line per effect of all runs')
    .option('--kill-at <step:n>', `SIGKILL at the n-th of: ${KILL_STEPS.join(', ')}`, parseKillAt)
    .addOption(
      new Option('--on-in-doubt <policy>', 'lease only: run again what a crash left in doubt, or set it aside')
        .choices(['rerun', 'park'])
        .default('rerun'),
    )
    .addHelpText('after', EXAMPLES)
    .allowExcessArguments(false)
    .action(async (flags: DemoFlags) => end(await runDemo(requestOf(flags))))
}

function requestOf(flags: DemoFlags): DemoRequest {
  const { input, store = isInstalled(PGLITE) ? 'pglite' : 'memory', effects, killAt } = flags
  if (store === 'memory' && killAt !== undefined) {
    const why = 'there would be nothing to go on from; pick another store'
    throw misuse(`--kill-at with --store memory: ${why}`)
  }
  return { ...flags, input, store, state: flags.state ?? `.consume-once-demo/${store}`, effects, killAt }
}

function isInstalled(name: string): boolean {
  try {
    createRequire(import.meta.url).resolve(name)
    return true
  } catch {
    return false
  }
}

function parseKillAt(text: string): DemoRequest['killAt'] {
  const match = /^([a-z]+):([1-9]\d{0,8})$/.exec(text)
  const step = KILL_STEPS.find((known): known is KillStep => known === match?.[1])
  if (match === null || step === undefined) {
    throw new InvalidArgumentError(`Expected STEP:N such as handled:500, with STEP one of ${KILL_STEPS.join(', ')}.`)
  }
  return { step, count: Number(match[2]) }
}
