import { onKafka, onRabbit } from '../contenders/library/brokers.ts'
import { P50, P50_SENT, P99, P99_SENT } from '../contenders/latency/delays.ts'
import { noop } from '../contenders/handlers.ts'
import { byInboxRow, bySetNx, type LoadOnce } from '../contenders/once/once.ts'
import { lineOnKafka, lineOnRabbit, messagesAt, WARM_UP } from '../contenders/latency/pace.ts'
import { lazily } from '../lazily.ts'
import { named, type Bound, type Contender, type Scenario, type Suite } from '../suite.ts'

const PREFETCH = 1_000

const RATES = [10, 100, 1_000]

const byHand = lazily(() => import('../contenders/latency/latency.ts'))
const redis = lazily(() => import('../contenders/latency/latency-redis.ts'))
const postgres = lazily(() => import('../contenders/latency/latency-postgres.ts'))

const onKafkaByHand = (perSecond: number, load: LoadOnce): Contender['run'] =>
  byHand(({ pacedEachOnce }) =>
    pacedEachOnce(lineOnKafka, perSecond, load, async () => {
      const { eachOnceOfBatches } = await import('../contenders/by-hand/kafka-each.ts')
      return (timed, arrived) => eachOnceOfBatches(timed, noop, arrived)
    }),
  )

const onRabbitByHand = (perSecond: number, load: LoadOnce): Contender['run'] =>
  byHand(({ pacedEachOnce }) =>
    pacedEachOnce(lineOnRabbit, perSecond, load, async () => {
      const { ackEachOnce } = await import('../contenders/by-hand/rabbit-each.ts')
      return (timed) => ackEachOnce(timed, noop, PREFETCH)
    }),
  )

const rabbit = onRabbit(PREFETCH, 'quorum')

/** Of the loop by hand, in the same repetition. */
const bounds = (of: string, to: string): readonly Bound[] => [
  { of, figure: P50, most: 1.3, timesThatOf: to },
  { of, figure: P99, most: 1.5, timesThatOf: to },
  { of, figure: P50_SENT, most: 1.3, timesThatOf: to },
  { of, figure: P99_SENT, most: 1.5, timesThatOf: to },
]

/** How long a message takes where nothing is at its limit. */
export const latency: Suite = {
  name: 'latency',
  packages: ['kafkajs', 'amqplib', 'ioredis', 'pg'],
  smoke: 400,
  scenarios: (['kafka', 'rabbitmq'] as const).flatMap((system) =>
    (['redis', 'postgres'] as const).flatMap((store) => RATES.map((perSecond) => scenarioOf(system, store, perSecond))),
  ),
}

function scenarioOf(system: 'kafka' | 'rabbitmq', store: 'redis' | 'postgres', perSecond: number): Scenario {
  const place = system === 'kafka' ? 'Kafka, 8 partitions' : `RabbitMQ, quorum queue, prefetch ${PREFETCH}`
  const line = system === 'kafka' ? lineOnKafka : lineOnRabbit
  const broker = system === 'kafka' ? onKafka : rabbit
  const eachByHand = system === 'kafka' ? onKafkaByHand : onRabbitByHand
  const ours = store === 'redis' ? 'redisLease' : 'postgresInbox'
  const theirs = store === 'redis' ? 'SET NX, SET each' : 'a transaction for each message'
  const titled = store === 'redis' ? 'leases in Redis' : 'inbox in Postgres'
  return {
    name: `${system}-${store}-${perSecond}`,
    title: `${place}, ${titled}, 1 KB, ${perSecond.toLocaleString('en-US')} messages a second: to the durable mark, after ${WARM_UP.toLocaleString('en-US')} messages that are not measured`,
    messages: messagesAt(perSecond),
    needs: [system, store],
    contenders: named({
      [theirs]: eachByHand(perSecond, store === 'redis' ? bySetNx : byInboxRow),
      [ours]:
        store === 'redis'
          ? redis(({ pacedLease }) => pacedLease(line, perSecond, broker))
          : postgres(({ pacedInbox }) => pacedInbox(line, perSecond, broker)),
    }),
    ratios: [],
    bounds: bounds(ours, theirs),
  }
}
