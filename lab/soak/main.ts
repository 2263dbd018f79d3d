// npm run soak [-- options]
//
// Ends with 0 if nothing was lost, done twice, settled too early or kept for good, with 1 if something was, with 2 for a
// wrong command.

import { parseArgs } from 'node:util'
import { STORES } from '../chaos/plan.ts'
import { failuresOf, tell, type Command } from '../chaos/report.ts'
import { anySeed, oneOf, runCommand, whole } from '../kit/command.ts'
import { recordPart } from '../proof/part.ts'
import { partOf } from './part.ts'
import { runSoak, soakOf } from './run.ts'

const BROKERS = ['kafka', 'rabbitmq'] as const
const PLANTED = ['leak', 'open-transaction', 'skip', 'double'] as const

const USAGE = `usage: npm run soak [-- options]
  --broker NAME   ${BROKERS.join(' or ')} (kafka)
  --store NAME    postgres (inbox, handleBatch) or redis (lease) (postgres)
  --messages N    distinct IDs to send, 5% of them twice (1000000)
  --minutes N     over which messages and faults are spread; a machine that cannot keep pace takes longer (10);
                  below 4 too short for the number of records to level off
  --seed N        of messages and faults (random)
  --planted NAME  a fault in the workers that must be found (none): ${PLANTED.join(', ')}
  --record        writes docs/proof/soak.json, if the run is good`

function readCommand(args: readonly string[]): Command {
  const text = { type: 'string' } as const
  const { values } = parseArgs({
    args: [...args],
    options: {
      broker: { ...text, default: 'kafka' },
      store: { ...text, default: 'postgres' },
      messages: { ...text, default: '1000000' },
      minutes: { ...text, default: '10' },
      seed: { ...text, default: anySeed() },
      planted: text,
      record: { type: 'boolean', default: false },
    },
  })
  const options = {
    broker: oneOf('broker', values.broker, BROKERS),
    store: oneOf('store', values.store, STORES),
    messages: whole('messages', values.messages, 1),
    seed: whole('seed', values.seed, 0),
    ...soakOf(whole('minutes', values.minutes, 1)),
    ...(values.planted === undefined ? {} : { planted: oneOf('planted', values.planted, PLANTED) }),
  }
  return {
    options,
    run: async () => {
      const run = await runSoak(options)
      if (values.record && failuresOf(run).length === 0) recordPart('soak', partOf(run))
      return run
    },
  }
}

await runCommand({ usage: USAGE, read: readCommand, run: tell })
