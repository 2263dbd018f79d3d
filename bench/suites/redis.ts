import { lazily } from '../lazily.ts'
import type { Scenario, Suite } from '../suite.ts'

const store = lazily(() => import('../contenders/store/redis-store.ts'))

function pairs(batchSize: number): Scenario {
  return {
    name: `pairs-${batchSize}`,
    title: `claim and mark, batches of ${batchSize}, two at once`,
    messages: 200_000,
    repetitions: 3,
    needs: ['redis'],
    contenders: [
      { name: 'bare scripts', run: store(({ pairsByScript }) => pairsByScript(batchSize)) },
      { name: 'redisLease', run: store(({ pairsThroughStore }) => pairsThroughStore(batchSize)) },
    ],
    ratios: [{ of: 'redisLease', to: 'bare scripts', goal: 0.7 }],
  }
}

/** The lease store beside the client that it is built on. */
export const redis: Suite = {
  name: 'redis',
  packages: ['ioredis'],
  smoke: 400,
  scenarios: [
    pairs(100),
    pairs(500),
    {
      name: 'in-flight',
      title: 'one message at a time, 100 under way, no-op handler',
      messages: 50_000,
      repetitions: 3,
      needs: ['redis'],
      contenders: [
        { name: 'SET NX, SET', run: store(({ setNxInFlight }) => setNxInFlight(100)) },
        { name: 'handle()', run: store(({ handleInFlight }) => handleInFlight(100)) },
      ],
      ratios: [{ of: 'handle()', to: 'SET NX, SET', goal: 1.5 }],
    },
    {
      name: 'duplicates',
      title: 'claims of what is done, batches of 500, two at once',
      messages: 200_000,
      repetitions: 3,
      needs: ['redis'],
      contenders: [
        { name: 'MGET', run: store(({ duplicatesByMget }) => duplicatesByMget(500)) },
        { name: 'redisLease', run: store(({ duplicatesThroughStore }) => duplicatesThroughStore(500)) },
      ],
      ratios: [{ of: 'redisLease', to: 'MGET' }],
    },
  ],
}
