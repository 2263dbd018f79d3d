import { describe, expect, it } from '@jest/globals'
import { backends } from '../../test/kit/backends.ts'
import { runChaosOnRabbit } from './rabbitmq/run.ts'
import { explain, failuresOf, replayOf } from './report.ts'

/** The run ends itself before; a harness that hangs must not hold up everything else. */
const WITHIN_MS = 300_000

const describeOnServers = backends.has('rabbitmq') && backends.has('postgres') ? describe : describe.skip

/** The short form of `npm run chaos -- rabbitmq`, with another seed each time; a failure prints it. */
describeOnServers('workers on a quorum queue', () => {
  it(
    'lose nothing, do nothing twice and settle nothing too early while they, the broker and connections come and go [T4]',
    async () => {
      const seed = Math.floor(Math.random() * 2 ** 31)
      const options = { broker: 'rabbitmq', messages: 6_000, store: 'postgres', minutes: 4, seed } as const
      const run = await runChaosOnRabbit(options).catch((cause: unknown) => {
        throw new Error(`no verdict: ${replayOf(options)}`, { cause })
      })
      if (failuresOf(run).length > 0) throw new Error(explain(run))
      const { counts } = run.journal
      expect(counts.get('connections-cut')).toBe(2)
      expect(counts.get('broker-restart')).toBe(1)
      for (const fault of ['worker-kill', 'worker-freeze', 'worker-stop']) expect(counts.get(fault)).toBeGreaterThan(2)
    },
    WITHIN_MS,
  )
})
