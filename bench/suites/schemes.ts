import { twentyMs } from '../contenders/handlers.ts'
import type { Pace } from '../contenders/in-process/prepared-source.ts'
import { onKafka } from '../contenders/library/brokers.ts'
import { lazily } from '../lazily.ts'
import { NO_DUPLICATES } from '../places/plans.ts'
import { named, CPU_EACH, type Suite } from '../suite.ts'

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
      needs: [],
      contenders: named({
        'one identity': inMemory(({ handleIdentified }) => handleIdentified(HUNDREDS, 1)),
        'two identities': inMemory(({ handleIdentified }) => handleIdentified(HUNDREDS, 2)),
      }),
      ratios: [{ of: 'two identities', to: 'one identity' }],
      bounds: [{ of: 'two identities', figure: CPU_EACH, most: 1.3, timesThatOf: 'one identity' }],
    },
    {
      name: 'identities-kafka-redis',
      title: 'Kafka, 1 KB in 8 partitions, no-op handler, leases in Redis, 256 at once',
      messages: 200_000,
      needs: ['kafka', 'redis'],
      place: NO_DUPLICATES,
      contenders: named({
        'one identity': schemes(({ identifiedBy }) => identifiedBy(1)),
        'two identities': schemes(({ identifiedBy }) => identifiedBy(2)),
      }),
      ratios: [{ of: 'two identities', to: 'one identity' }],
      bounds: [{ of: 'two identities', figure: CPU_EACH, most: 1.3, timesThatOf: 'one identity' }],
    },
    {
      name: 'observe',
      title: 'Kafka, 1 KB in 8 partitions, handler of 20 ms, 256 at once, verdicts recorded in Redis',
      messages: 50_000,
      needs: ['kafka', 'redis'],
      place: NO_DUPLICATES,
      contenders: named({
        'no store': library(({ adapterAlone }) => adapterAlone(onKafka, twentyMs, 256)),
        'mode observe': schemes(({ observing }) => observing(twentyMs)),
      }),
      ratios: [{ of: 'mode observe', to: 'no store', goal: 0.95 }],
    },
  ],
}
