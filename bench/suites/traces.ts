import { onKafka } from '../contenders/library/brokers.ts'
import { noop } from '../contenders/handlers.ts'
import type { Pace } from '../contenders/in-process/prepared-source.ts'
import { lazily } from '../lazily.ts'
import { EIGHT_PARTITIONS, NO_DUPLICATES } from '../places/plans.ts'
import { named, CPU_EACH, type Suite } from '../suite.ts'

const framework = lazily(async () => ({
  ...(await import('../contenders/in-process/framework.ts')),
  ...(await import('../contenders/library/traces.ts')),
}))
const untraced = lazily(() => import('../contenders/in-process/framework.ts'))
const onRedis = lazily(async () => ({
  ...(await import('../contenders/library/redis-library.ts')),
  ...(await import('../contenders/library/traces.ts')),
}))
const untracedOnRedis = lazily(() => import('../contenders/library/redis-library.ts'))

const onPostgres = lazily(async () => ({
  ...(await import('../contenders/library/metrics.ts')),
  ...(await import('../contenders/library/traces.ts')),
}))

const HUNDREDS: Pace = { atOnce: 500, inFlight: 1_500 }
const LEAST = 0.95
/** As a share of the CPU of a message that is not traced. */
const MOST = 1.05

/** Cost of `trace` when one message in a hundred is sampled. */
export const traces: Suite = {
  name: 'traces',
  packages: ['@opentelemetry/api', '@opentelemetry/sdk-trace-node'],
  smoke: 500,
  scenarios: [
    {
      name: 'memory',
      title: 'memory store, no broker, no-op handler, 500 deliveries of 1 KB at once',
      messages: 300_000,
      needs: [],
      contenders: named({
        off: untraced(({ handleEach }) => handleEach(HUNDREDS)),
        'other traces': framework(({ handleEach, besideTraces }) => handleEach(HUNDREDS, besideTraces())),
        'ratio 1 %': framework(({ handleEach, askedAt }) => handleEach(HUNDREDS, askedAt(0.01))),
        '1 %': framework(({ handleEach, tracedAt }) => handleEach(HUNDREDS, tracedAt(0.01))),
        all: framework(({ handleEach, tracedAt }) => handleEach(HUNDREDS, tracedAt(1))),
      }),
      ratios: [
        { of: 'other traces', to: 'off' },
        { of: 'ratio 1 %', to: 'other traces' },
        { of: '1 %', to: 'other traces' },
        { of: '1 %', to: 'off' },
        { of: 'all', to: 'off' },
      ],
    },
    {
      name: 'kafka-redis',
      title: 'Kafka, 1 KB in 8 partitions, a fifth duplicates, no-op handler, leases in Redis, 256 at once',
      messages: 200_000,
      needs: ['kafka', 'redis'],
      place: EIGHT_PARTITIONS,
      contenders: named({
        off: untracedOnRedis(({ libraryOnRedis }) => libraryOnRedis(onKafka, noop, { concurrency: 256 })),
        'other traces': onRedis(({ libraryOnRedis, besideTraces }) =>
          libraryOnRedis(onKafka, noop, { concurrency: 256, ...besideTraces() }),
        ),
        'span by hand': onRedis(({ libraryOnRedis, spanned }) =>
          libraryOnRedis(onKafka, spanned(noop, 0.01), { concurrency: 256 }),
        ),
        'ratio 1 %': onRedis(({ libraryOnRedis, askedAt }) =>
          libraryOnRedis(onKafka, noop, { concurrency: 256, ...askedAt(0.01) }),
        ),
        '1 %': onRedis(({ libraryOnRedis, tracedAt }) =>
          libraryOnRedis(onKafka, noop, { concurrency: 256, ...tracedAt(0.01) }),
        ),
      }),
      ratios: [
        { of: 'other traces', to: 'off' },
        { of: 'ratio 1 %', to: 'other traces', goal: LEAST },
        { of: 'span by hand', to: 'other traces' },
        { of: '1 %', to: 'other traces' },
        { of: '1 %', to: 'span by hand' },
      ],
    },
    {
      name: 'kafka-postgres',
      title: 'Kafka, 1 KB in 8 partitions, a handler that writes one row, inbox in Postgres',
      messages: 50_000,
      needs: ['kafka', 'postgres'],
      place: NO_DUPLICATES,
      contenders: named({
        'other traces': onPostgres(({ onKafkaAndPostgres, besideTraces }) => onKafkaAndPostgres(besideTraces)),
        'ratio 1 %': onPostgres(({ onKafkaAndPostgres, askedAt }) => onKafkaAndPostgres(() => askedAt(0.01))),
        '1 %': onPostgres(({ onKafkaAndPostgres, tracedAt }) => onKafkaAndPostgres(() => tracedAt(0.01))),
      }),
      ratios: [
        { of: 'ratio 1 %', to: 'other traces', goal: LEAST },
        { of: '1 %', to: 'other traces', goal: LEAST },
      ],
      bounds: [
        { of: 'ratio 1 %', figure: CPU_EACH, most: MOST, timesThatOf: 'other traces' },
        { of: '1 %', figure: CPU_EACH, most: MOST, timesThatOf: 'other traces' },
      ],
    },
  ],
}
