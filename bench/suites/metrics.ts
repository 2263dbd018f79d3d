import type { Pace } from '../contenders/in-process/prepared-source.ts'
import { lazily } from '../lazily.ts'
import { NO_DUPLICATES } from '../places/plans.ts'
import type { Settings } from '../contenders/library/consume-once.ts'
import { named, CPU_EACH, type Contender, type Scenario, type Suite } from '../suite.ts'

const inMemory = lazily(async () => ({
  ...(await import('../contenders/in-process/framework.ts')),
  ...(await import('../contenders/library/metrics.ts')),
}))
const onBroker = lazily(() => import('../contenders/library/metrics.ts'))

const HUNDREDS: Pace = { atOnce: 500, inFlight: 1_500 }
/** As a share of the CPU of a message without metrics. */
const MOST = 1.03

type Metrics = typeof import('../contenders/library/metrics.ts')

function onServers(
  on: 'onKafkaAndRedis' | 'onKafkaAndPostgres' | 'onRabbitAndRedis',
  about: Pick<Scenario, 'name' | 'title' | 'messages' | 'needs'> & Required<Pick<Scenario, 'place'>>,
): Scenario {
  const by = (settingsOf: (contenders: Metrics) => () => Settings): Contender['run'] =>
    onBroker((contenders) => contenders[on](settingsOf(contenders)))
  return {
    ...about,
    contenders: named({
      off: by(({ unobserved }) => unobserved),
      'no-op observer': by(({ observed }) => observed),
      prometheus: by(({ byPrometheus }) => byPrometheus),
      'OpenTelemetry producer': by(({ byOpenTelemetry }) => byOpenTelemetry),
    }),
    ratios: [
      { of: 'no-op observer', to: 'off' },
      { of: 'prometheus', to: 'off' },
      { of: 'OpenTelemetry producer', to: 'off' },
    ],
    bounds: [
      { of: 'prometheus', figure: CPU_EACH, most: MOST, timesThatOf: 'off' },
      { of: 'OpenTelemetry producer', figure: CPU_EACH, most: MOST, timesThatOf: 'off' },
    ],
  }
}

/** Cost of metrics in CPU time per message. */
export const metrics: Suite = {
  name: 'metrics',
  packages: ['prom-client', '@opentelemetry/sdk-metrics', 'kafkajs', 'amqplib', 'ioredis', 'pg'],
  smoke: 500,
  // What a process compiles at its start is a part of both sides.
  scenarios: [
    {
      name: 'memory',
      title: 'memory store, no broker, no-op handler, 500 deliveries of 1 KB at once',
      messages: 300_000,
      needs: [],
      contenders: named({
        off: inMemory(({ handleEach }) => handleEach(HUNDREDS)),
        'no-op observer': inMemory(({ handleEach, observed }) => handleEach(HUNDREDS, observed())),
        prometheus: inMemory(({ handleEach, byPrometheus }) => handleEach(HUNDREDS, byPrometheus())),
        'OpenTelemetry producer': inMemory(({ handleEach, byOpenTelemetry }) =>
          handleEach(HUNDREDS, byOpenTelemetry()),
        ),
      }),
      ratios: [
        { of: 'no-op observer', to: 'off' },
        { of: 'prometheus', to: 'off' },
        { of: 'OpenTelemetry producer', to: 'off' },
      ],
    },
    onServers('onKafkaAndRedis', {
      name: 'kafka-redis',
      title: 'Kafka, 1 KB in 8 partitions, no-op handler, leases in Redis, 256 at once',
      messages: 200_000,
      needs: ['kafka', 'redis'],
      place: NO_DUPLICATES,
    }),
    onServers('onKafkaAndPostgres', {
      name: 'kafka-postgres',
      title: 'Kafka, 1 KB in 8 partitions, a handler that writes one row, inbox in Postgres',
      messages: 50_000,
      needs: ['kafka', 'postgres'],
      place: NO_DUPLICATES,
    }),
    onServers('onRabbitAndRedis', {
      name: 'rabbitmq-redis',
      title: 'RabbitMQ, 1 KB persistent in a quorum queue, no-op handler, leases in Redis, 256 at once',
      messages: 60_000,
      needs: ['rabbitmq', 'redis'],
      place: { queueType: 'quorum' },
    }),
  ],
}
