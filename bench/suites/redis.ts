import {
  duplicatesByMget,
  duplicatesThroughStore,
  handleInFlight,
  pairsByScript,
  pairsThroughStore,
  setNxInFlight,
} from '../contenders/redis-store.ts'
import type { Scenario, Suite } from '../suite.ts'

function pairs(batchSize: number): Scenario {
  return {
    name: `pairs-${batchSize}`,
    title: `claim and mark, batches of ${batchSize}, two at once`,
    messages: 200_000,
    repetitions: 5,
    needs: ['redis'],
    contenders: [
      { name: 'bare scripts', run: pairsByScript(batchSize) },
      { name: 'redisLease', run: pairsThroughStore(batchSize) },
    ],
    ratios: [{ of: 'redisLease', to: 'bare scripts', goal: 0.7 }],
  }
}

/** The lease store beside the client that it is built on. */
export const redis: Suite = {
  name: 'redis',
  scenarios: [
    pairs(100),
    pairs(500),
    {
      name: 'in-flight',
      title: 'one message at a time, 100 under way, no-op handler',
      messages: 50_000,
      repetitions: 5,
      needs: ['redis'],
      contenders: [
        { name: 'SET NX, SET', run: setNxInFlight(100) },
        { name: 'handle()', run: handleInFlight(100) },
      ],
      ratios: [{ of: 'handle()', to: 'SET NX, SET', goal: 1.5 }],
    },
    {
      name: 'duplicates',
      title: 'claims of what is done, batches of 500, two at once',
      messages: 200_000,
      repetitions: 5,
      needs: ['redis'],
      contenders: [
        { name: 'MGET', run: duplicatesByMget(500) },
        { name: 'redisLease', run: duplicatesThroughStore(500) },
      ],
      ratios: [{ of: 'redisLease', to: 'MGET' }],
    },
  ],
}
