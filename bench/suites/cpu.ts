import type { Pace } from '../contenders/in-process/prepared-source.ts'
import { lazily } from '../lazily.ts'
import { named, CPU_EACH, type Suite } from '../suite.ts'

const framework = lazily(() => import('../contenders/in-process/framework.ts'))
const store = lazily(() => import('../contenders/store/store-alone.ts'))
const bare = lazily(() => import('../contenders/in-process/bare-loops.ts'))

const HUNDREDS: Pace = { atOnce: 500, inFlight: 1_500 }
const ONE: Pace = { atOnce: 1, inFlight: 1 }

const MOST_IN_BATCHES_US = 3
const MOST_ALONE_US = 10

/** The library alone, on the memory store. Its cost is the CPU time of each message. */
export const cpu: Suite = {
  name: 'cpu',
  packages: [],
  smoke: 500,
  scenarios: [
    {
      name: 'batches',
      title: 'memory store, no broker, no-op handler, 500 deliveries of 1 KB at once',
      messages: 200_000,
      needs: [],
      contenders: named({
        'bare loop': bare(({ setOfIds }) => setOfIds),
        'bare loop with digests': bare(({ setOfDigests }) => setOfDigests),
        'source alone': bare(({ sourceAlone }) => sourceAlone(HUNDREDS)),
        handle: framework(({ handleEach }) => handleEach(HUNDREDS)),
        'handle, 256 at once': framework(({ handleEach }) => handleEach(HUNDREDS, { concurrency: 256 })),
        'handleBatch of 500': framework(({ handleInBatches }) => handleInBatches(HUNDREDS, 500)),
      }),
      ratios: [{ of: 'handle, 256 at once', to: 'bare loop with digests' }],
      bounds: [
        { of: 'handle', figure: CPU_EACH, most: MOST_IN_BATCHES_US },
        { of: 'handle, 256 at once', figure: CPU_EACH, most: MOST_IN_BATCHES_US },
        { of: 'handleBatch of 500', figure: CPU_EACH, most: MOST_IN_BATCHES_US },
      ],
    },
    {
      name: 'alone',
      title: 'memory store, no broker, no-op handler, a delivery of 1 KB after the settle of the one before',
      messages: 100_000,
      needs: [],
      contenders: named({
        'source alone': bare(({ sourceAlone }) => sourceAlone(ONE)),
        'store alone': store(({ storeAlone }) => storeAlone),
        handle: framework(({ handleEach }) => handleEach(ONE)),
        'await handle(message)': framework(({ handleAwaited }) => handleAwaited),
      }),
      ratios: [],
      bounds: [
        { of: 'handle', figure: CPU_EACH, most: MOST_ALONE_US, aboveThatOf: 'store alone' },
        { of: 'await handle(message)', figure: CPU_EACH, most: MOST_ALONE_US, aboveThatOf: 'store alone' },
      ],
    },
    {
      name: 'memory-broker',
      title: 'memory broker and memory store, no-op handler',
      messages: 200_000,
      needs: [],
      contenders: named({
        'bare loop': bare(({ setOfIds }) => setOfIds),
        library: framework(({ onMemoryBroker }) => onMemoryBroker),
      }),
      ratios: [{ of: 'library', to: 'bare loop' }],
    },
  ],
}
