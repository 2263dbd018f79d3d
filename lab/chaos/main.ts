// npm run chaos -- kafka|rabbitmq [options]
//
// Ends with 0 if nothing was lost, done twice or settled too early, with 1 if something was, with 2 for a wrong command.

import { parseArgs } from 'node:util'
import { anySeed, oneOf, runCommand, whole } from '../kit/command.ts'
import { CHAOS_CLIENTS, PLANTED as PLANTED_ON_KAFKA } from './kafka/plan.ts'
import { runChaosOnKafka } from './kafka/run.ts'
import { STORES, type RunOptions } from './plan.ts'
import { PLANTED as PLANTED_ON_RABBIT } from './rabbitmq/plan.ts'
import { tell, type Command } from './report.ts'
import { runChaosOnRabbit } from './rabbitmq/run.ts'

const USAGE = `usage: npm run chaos -- kafka|rabbitmq [options]
  --messages N    distinct IDs to send, 5% of them twice (kafka: 100000, rabbitmq: 50000)
  --moves N       kafka: partitions moved away from their leader and back; other faults in proportion (80)
  --client NAME   kafka: ${CHAOS_CLIENTS.join(', ')} (kafkajs)
  --store NAME    postgres (inbox) or redis (lease) (postgres)
  --seed N        of messages and faults (random)
  --minutes N     when a run without an end has failed (45)
  --planted NAME  a fault in the workers that must be found (none); kafka: ${PLANTED_ON_KAFKA.join(', ')};
                  rabbitmq: ${PLANTED_ON_RABBIT.join(', ')}`

type Flags = Readonly<Record<string, string | undefined>>

function readCommand(args: readonly string[]): Command {
  const text = { type: 'string' } as const
  const options = { messages: text, moves: text, client: text, store: text, seed: text, minutes: text, planted: text }
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
  const broker = positionals.join(' ')
  switch (broker) {
    case 'kafka': {
      const moves = whole('moves', values.moves ?? '80', 1)
      const client = oneOf('client', values.client ?? 'kafkajs', CHAOS_CLIENTS)
      if (client !== 'kafkajs' && values.planted?.startsWith('commit-') === true) {
        throw new TypeError('--planted commit-high, commit-low: expected only with --client kafkajs')
      }
      const all = { broker, ...readFlags(values, 100_000, PLANTED_ON_KAFKA), moves, client } as const
      return { options: all, run: () => runChaosOnKafka(all) }
    }
    case 'rabbitmq': {
      if (values.client !== undefined) throw new TypeError('--client: expected only with kafka')
      if (values.moves !== undefined) throw new TypeError('--moves: expected only with kafka')
      const all = { broker, ...readFlags(values, 50_000, PLANTED_ON_RABBIT) } as const
      return { options: all, run: () => runChaosOnRabbit(all) }
    }
    default:
      throw new TypeError(`expected 'kafka' or 'rabbitmq', got '${broker}'`)
  }
}

function readFlags(flags: Flags, messages: number, planted: readonly string[]): Omit<RunOptions, 'broker'> {
  const { store = 'postgres', seed = anySeed(), minutes = '45' } = flags
  return {
    messages: whole('messages', flags['messages'] ?? String(messages), 1),
    store: oneOf('store', store, STORES),
    seed: whole('seed', seed, 0),
    minutes: whole('minutes', minutes, 1),
    ...(flags['planted'] === undefined ? {} : { planted: oneOf('planted', flags['planted'], planted) }),
  }
}

await runCommand({ usage: USAGE, read: readCommand, run: tell })
