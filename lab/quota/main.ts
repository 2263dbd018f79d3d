// npm run quota -- [--messages N] [--partitions N] [--share N] [--seconds N] [--session-timeout MS] [--batch-bytes N]
//
// A consumer with a backlog of small messages and a share of a CPU. Tells every five seconds how far it is. Ends with 0 if it stayed a
// member of its group and handled messages, with 1 if not, with 2 for a wrong command.

import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { runCommand, whole } from '../kit/command.ts'
import { StarvedConsumer, type Figures, type StarvedOptions } from './starved-consumer.ts'

const USAGE = `usage: npm run quota -- [options]
  --messages N          in the topic before it starts (1000000)
  --partitions N        of the topic (40)
  --percent N           of one CPU (12)
  --seconds N           that it is watched (90)
  --session-timeout MS  (10000)
  --partition-bytes N   maxBytesPerPartition of kafkajs's consumer (its default)
  --fetch-bytes N       maxBytes of kafkajs's consumer (its default)`

const TELL_EVERY_S = 5

interface Command extends StarvedOptions {
  readonly seconds: number
}

function readCommand(args: readonly string[]): Command {
  const text = { type: 'string' } as const
  const { values } = parseArgs({
    args: [...args],
    options: {
      messages: text,
      partitions: text,
      percent: text,
      seconds: text,
      'session-timeout': text,
      'partition-bytes': text,
      'fetch-bytes': text,
    },
  })
  const number = (name: keyof typeof values, otherwise: string): number => whole(name, values[name] ?? otherwise, 1)
  return {
    messages: number('messages', '1000000'),
    partitions: number('partitions', '40'),
    share: number('percent', '12') / 100,
    seconds: number('seconds', '90'),
    sessionTimeoutMs: number('session-timeout', '10000'),
    consumer: {
      ...(values['partition-bytes'] !== undefined && { maxBytesPerPartition: number('partition-bytes', '') }),
      ...(values['fetch-bytes'] !== undefined && { maxBytes: number('fetch-bytes', '') }),
    },
  }
}

function textOf(figures: Figures | undefined): string {
  return figures === undefined ? 'has not joined yet' : JSON.stringify(figures)
}

async function run(command: Command): Promise<number> {
  await using starved = await StarvedConsumer.start(command)
  console.log(`${command.messages} messages, ${command.share} of a CPU by ${starved.limitedBy}`)
  for (let second = TELL_EVERY_S; second <= command.seconds; second += TELL_EVERY_S) {
    await sleep(TELL_EVERY_S * 1_000)
    console.log(`${second} s: ${textOf(starved.figures)}`)
  }
  const { joins, handled } = starved.figures ?? { joins: 0, handled: 0 }
  return joins === 1 && handled > 0 ? 0 : 1
}

await runCommand({ usage: USAGE, read: readCommand, run })
