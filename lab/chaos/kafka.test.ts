import { describe, expect, it } from '@jest/globals'
import { isSupported } from '../../adapters/platformatic-kafka/supported-node.ts'
import { backends } from '../../test/kit/backends.ts'
import { SERVER_WITHIN_MS } from '../../test/kit/servers/server.ts'
import { CHAOS_CLIENTS } from './kafka/plan.ts'
import { runChaosOnKafka } from './kafka/run.ts'
import { explain, failuresOf, replayOf } from './report.ts'

const describeOnServers = backends.has('kafka') && backends.has('postgres') ? describe : describe.skip
const clients = CHAOS_CLIENTS.filter((client) => client === 'kafkajs' || isSupported(process.versions.node))

/** The short form of `npm run chaos -- kafka`, with another seed each time; a failure prints it. */
describeOnServers.each(clients)('a consumer group on three brokers, with %s', (client) => {
  it(
    'loses nothing, does nothing twice and commits nothing too early while workers, brokers and partitions come and go, leaders are elected uncleanly and transactions are aborted [T3]',
    async () => {
      const seed = Math.floor(Math.random() * 2 ** 31)
      const options = {
        broker: 'kafka',
        client,
        messages: 5_000,
        moves: 7,
        store: 'postgres',
        minutes: 5,
        seed,
      } as const
      const run = await runChaosOnKafka(options).catch((cause: unknown) => {
        throw new Error(`no verdict: ${replayOf(options)}`, { cause })
      })
      if (failuresOf(run).length > 0) throw new Error(explain(run))
      const { counts } = run.journal
      expect(counts.get('partition-move')).toBe(options.moves)
      const faults = ['worker-kill', 'worker-freeze', 'worker-stop', 'broker-kill', 'broker-freeze', 'unclean-election']
      for (const fault of faults) expect(counts.get(fault)).toBeGreaterThan(0)
      const { figures } = run.verdict
      for (const figure of ['abortedMessages', 'cutOff']) expect(figures[figure]).toBeGreaterThan(0)
    },
    SERVER_WITHIN_MS,
  )
})
