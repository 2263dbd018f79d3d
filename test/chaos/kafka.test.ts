import { expect, it } from '@jest/globals'
import { SERVER_WITHIN_MS } from '../support/servers/server.ts'
import type { ChaosOptions } from './plan.ts'
import { explain, failuresOf } from './report.ts'
import { runChaos } from './run.ts'

/** The short form of `npm run chaos -- kafka`. The seed is another each time, and told when the run fails. */
const SHORT: Omit<ChaosOptions, 'seed'> = { messages: 5_000, moves: 7, store: 'postgres', minutes: 5 }

it(
  'loses nothing, does nothing twice and commits nothing too early while workers, brokers and partitions come and go',
  async () => {
    const run = await runChaos({ ...SHORT, seed: Math.floor(Math.random() * 2 ** 31) })
    if (failuresOf(run).length > 0) throw new Error(explain(run))
    const { counts } = run.journal
    expect(counts.get('partition-move')).toBe(SHORT.moves)
    for (const fault of ['worker-kill', 'worker-freeze', 'worker-stop', 'broker-kill', 'broker-freeze']) {
      expect(counts.get(fault)).toBeGreaterThan(0)
    }
  },
  SERVER_WITHIN_MS,
)
