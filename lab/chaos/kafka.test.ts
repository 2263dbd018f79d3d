import { describe, expect, it } from '@jest/globals'
import { backends } from '../../test/kit/backends.ts'
import { SERVER_WITHIN_MS } from '../../test/kit/servers/server.ts'
import { runChaosOnKafka } from './kafka/run.ts'
import { explain, failuresOf, replayOf } from './report.ts'

const describeOnServers = backends.has('kafka') && backends.has('postgres') ? describe : describe.skip

/** The short form of `npm run chaos -- kafka`, with another seed each time; a failure prints it. */
describeOnServers('a consumer group on three brokers', () => {
  it(
    'loses nothing, does nothing twice and commits nothing too early while workers, brokers and partitions come and go [T3]',
    async () => {
      const seed = Math.floor(Math.random() * 2 ** 31)
      const options = { broker: 'kafka', messages: 5_000, moves: 7, store: 'postgres', minutes: 5, seed } as const
      const run = await runChaosOnKafka(options).catch((cause: unknown) => {
        throw new Error(`no verdict: ${replayOf(options)}`, { cause })
      })
      if (failuresOf(run).length > 0) throw new Error(explain(run))
      const { counts } = run.journal
      expect(counts.get('partition-move')).toBe(options.moves)
      for (const fault of ['worker-kill', 'worker-freeze', 'worker-stop', 'broker-kill', 'broker-freeze']) {
        expect(counts.get(fault)).toBeGreaterThan(0)
      }
    },
    SERVER_WITHIN_MS,
  )
})
