import { twentyMs } from '../contenders/handlers.ts'
import type { Pace } from '../contenders/in-process/prepared-source.ts'
import { onKafka } from '../contenders/library/brokers.ts'
import { lazily } from '../lazily.ts'
import { NO_DUPLICATES } from '../places/plans.ts'
import { CPU_EACH, type Suite } from '../suite.ts'

const inMemory = lazily(() => import('../contenders/in-process/framework.ts'))
const library = lazily(() => import('../contenders/library/consume-once.ts'))
const schemes = lazily(() => import('../contenders/library/schemes.ts'))

const HUNDREDS: Pace = { atOnce: 500, inFlight: 1_500 }

/** What a second identity costs, and what mode `observe` costs. */
export const schemesSuite: Suite = {
  name: 'schemes',
  packages: ['kafkajs', 'ioredis'],
  smoke: 400,
  scenarios: [
    {
      name: 'identities',
      title: 'memory store, no broker, no-op handler, 500 deliveries of 1 KB at once',
      messages: 200_000,
      repetitions: 3,
      needs: [],
      contenders: [
        { name: 'one identity', run: inMemory(({ handleIdentified }) => handleIdentified(HUNDREDS, 1)) },
        { name: 'two identities', run: inMemory(({ handleIdentified }) => handleIdentified(HUNDREDS, 2)) },
      ],
      ratios: [{ of: 'two identities', to: 'one identity' }],
      bounds: [{ of: 'two identities', figure: CPU_EACH, most: 1.3, timesThatOf: 'one identity' }],
    },
    {
      name: 'identities-kafka-redis',
      title: 'Kafka, 1 KB in 8 partitions, no-op handler, leases in Redis, 256 at once',
      messages: 200_000,
      repetitions: 3,
      needs: ['kafka', 'redis'],
      place: NO_DUPLICATES,
      contenders: [
        { name: 'one identity', run: schemes(({ identifiedBy }) => identifiedBy(1)) },
        { name: 'two identities', run: schemes(({ identifiedBy }) => identifiedBy(2)) },
      ],
      ratios: [{ of: 'two identities', to: 'one identity' }],
      bounds: [{ of: 'two identities', figure: CPU_EACH, most: 1.3, timesThatOf: 'one identity' }],
    },
    {
      name: 'observe',
      title: 'Kafka, 1 KB in 8 partitions, handler of 20 ms, 256 at once, verdicts recorded in Redis',
      messages: 50_000,
      repetitions: 3,
      needs: ['kafka', 'redis'],
      place: NO_DUPLICATES,
      contenders: [
        { name: 'no store', run: library(({ adapterAlone }) => adapterAlone(onKafka, twentyMs, 256)) },
        { name: 'mode observe', run: schemes(({ observing }) => observing(twentyMs)) },
      ],
      ratios: [{ of: 'mode observe', to: 'no store', goal: 0.95 }],
    },
  ],
}
