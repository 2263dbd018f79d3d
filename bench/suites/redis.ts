import { lazily } from '../lazily.ts'
import { named, type Scenario, type Suite } from '../suite.ts'

const store = lazily(() => import('../contenders/store/redis-store.ts'))

function pairs(batchSize: number): Scenario {
  return {
    name: `pairs-${batchSize}`,
    title: `claim and mark, batches of ${batchSize}, two at once`,
    messages: 200_000,
    needs: ['redis'],
    contenders: named({
      'bare scripts': store(({ pairsByScript }) => pairsByScript(batchSize)),
      redisLease: store(({ pairsThroughStore }) => pairsThroughStore(batchSize)),
    }),
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
      needs: ['redis'],
      contenders: named({
        'SET NX, SET': store(({ setNxInFlight }) => setNxInFlight(100)),
        'handle()': store(({ handleInFlight }) => handleInFlight(100)),
      }),
      ratios: [{ of: 'handle()', to: 'SET NX, SET', goal: 1.5 }],
    },
    {
      name: 'duplicates',
      title: 'claims of what is done, batches of 500, two at once',
      messages: 200_000,
      needs: ['redis'],
      contenders: named({
        MGET: store(({ duplicatesByMget }) => duplicatesByMget(500)),
        redisLease: store(({ duplicatesThroughStore }) => duplicatesThroughStore(500)),
      }),
      ratios: [{ of: 'redisLease', to: 'MGET' }],
    },
  ],
}
