import type { Pace } from '../contenders/in-process/prepared-source.ts'
import { lazily } from '../lazily.ts'
import type { TopicPlan } from '../places/plans.ts'
import { CPU_EACH, type Suite } from '../suite.ts'

const inMemory = lazily(async () => ({
  ...(await import('../contenders/in-process/framework.ts')),
  ...(await import('../contenders/library/metrics.ts')),
}))
const onBroker = lazily(() => import('../contenders/library/metrics.ts'))

const HUNDREDS: Pace = { atOnce: 500, inFlight: 1_500 }
const EIGHT_PARTITIONS: TopicPlan = { partitions: 8, partitionOf: (id) => id % 8, keys: 10_000 }
/** As a share of the CPU of a message without metrics. */
const MOST = 1.03

/** Cost of metrics in CPU time per message. */
export const metrics: Suite = {
  name: 'metrics',
  packages: ['prom-client', '@opentelemetry/sdk-metrics', 'kafkajs', 'ioredis'],
  smoke: 500,
  scenarios: [
    {
      name: 'memory',
      title: 'memory store, no broker, no-op handler, 500 deliveries of 1 KB at once',
      messages: 200_000,
      repetitions: 5,
      needs: [],
      contenders: [
        { name: 'off', run: inMemory(({ handleEach }) => handleEach(HUNDREDS)) },
        { name: 'no-op observer', run: inMemory(({ handleEach, observed }) => handleEach(HUNDREDS, observed())) },
        { name: 'prometheus', run: inMemory(({ handleEach, byPrometheus }) => handleEach(HUNDREDS, byPrometheus())) },
        {
          name: 'OpenTelemetry producer',
          run: inMemory(({ handleEach, byOpenTelemetryProducer }) => handleEach(HUNDREDS, byOpenTelemetryProducer())),
        },
        {
          name: 'OpenTelemetry',
          run: inMemory(({ handleEach, byOpenTelemetry }) => handleEach(HUNDREDS, byOpenTelemetry())),
        },
      ],
      ratios: [
        { of: 'no-op observer', to: 'off' },
        { of: 'prometheus', to: 'off' },
        { of: 'OpenTelemetry producer', to: 'off' },
        { of: 'OpenTelemetry', to: 'off' },
      ],
    },
    {
      name: 'kafka-redis',
      title: 'Kafka, 1 KB in 8 partitions, no-op handler, leases in Redis, 256 at once',
      messages: 200_000,
      repetitions: 5,
      needs: ['kafka', 'redis'],
      place: EIGHT_PARTITIONS,
      contenders: [
        { name: 'off', run: onBroker(({ onKafkaAndRedis, unobserved }) => onKafkaAndRedis(unobserved)) },
        { name: 'no-op observer', run: onBroker(({ onKafkaAndRedis, observed }) => onKafkaAndRedis(observed)) },
        { name: 'prometheus', run: onBroker(({ onKafkaAndRedis, byPrometheus }) => onKafkaAndRedis(byPrometheus)) },
        {
          name: 'OpenTelemetry producer',
          run: onBroker(({ onKafkaAndRedis, byOpenTelemetryProducer }) => onKafkaAndRedis(byOpenTelemetryProducer)),
        },
        {
          name: 'OpenTelemetry',
          run: onBroker(({ onKafkaAndRedis, byOpenTelemetry }) => onKafkaAndRedis(byOpenTelemetry)),
        },
      ],
      ratios: [
        { of: 'no-op observer', to: 'off' },
        { of: 'prometheus', to: 'off' },
        { of: 'OpenTelemetry producer', to: 'off' },
        { of: 'OpenTelemetry', to: 'off' },
      ],
      bounds: [
        { of: 'prometheus', figure: CPU_EACH, most: MOST, timesThatOf: 'off' },
        { of: 'OpenTelemetry producer', figure: CPU_EACH, most: MOST, timesThatOf: 'off' },
      ],
    },
  ],
}
