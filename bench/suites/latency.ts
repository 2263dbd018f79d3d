import { onKafka, onRabbit } from '../contenders/library/brokers.ts'
import { P50, P99 } from '../contenders/latency/delays.ts'
import { noop } from '../contenders/handlers.ts'
import { byInboxRow, bySetNx, type LoadOnce } from '../contenders/once/once.ts'
import { lineOnKafka, lineOnRabbit } from '../contenders/latency/pace.ts'
import { lazily } from '../lazily.ts'
import { named, type Bound, type Contender, type Scenario, type Suite } from '../suite.ts'

const PREFETCH = 1_000

/** Some 30 % of what the loop by hand with SET NX reaches on two cores that others use too. */
const ON_REDIS_PER_SECOND = 1_500
/** The same of the loop with an inbox row for each message. */
const ON_POSTGRES_PER_SECOND = 500

/** Of each run, a quarter of which is not measured. */
const SECONDS = 6

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

/** Not slower where it is usual, and hardly where it is not. */
const bounds = (of: string, to: string): readonly Bound[] => [
  { of, figure: P50, most: 1, timesThatOf: to },
  { of, figure: P99, most: 1.5, timesThatOf: to },
]

const rabbit = onRabbit(PREFETCH, 'quorum')
const titled = (what: string, perSecond: number): string =>
  `${what}, 1 KB, ${perSecond.toLocaleString('en-US')} messages a second: from arrival in the process to the durable mark`

/** How long a message takes where nothing is at its limit. */
export const latency: Suite = {
  name: 'latency',
  packages: ['kafkajs', 'amqplib', 'ioredis', 'pg'],
  smoke: 400,
  scenarios: [
    {
      name: 'kafka-redis',
      title: titled('Kafka, 8 partitions, leases in Redis', ON_REDIS_PER_SECOND),
      messages: SECONDS * ON_REDIS_PER_SECOND,
      needs: ['kafka', 'redis'],
      contenders: named({
        'SET NX, SET each': onKafkaByHand(ON_REDIS_PER_SECOND, bySetNx),
        redisLease: redis(({ pacedLease }) => pacedLease(lineOnKafka, ON_REDIS_PER_SECOND, onKafka)),
      }),
      ratios: [],
      bounds: bounds('redisLease', 'SET NX, SET each'),
    },
    {
      name: 'rabbitmq-redis',
      title: titled(`RabbitMQ, quorum queue, prefetch ${PREFETCH}, leases in Redis`, ON_REDIS_PER_SECOND),
      messages: SECONDS * ON_REDIS_PER_SECOND,
      needs: ['rabbitmq', 'redis'],
      contenders: named({
        'SET NX, SET, ack each': onRabbitByHand(ON_REDIS_PER_SECOND, bySetNx),
        redisLease: redis(({ pacedLease }) => pacedLease(lineOnRabbit, ON_REDIS_PER_SECOND, rabbit)),
      }),
      ratios: [],
      bounds: bounds('redisLease', 'SET NX, SET, ack each'),
    },
    onInbox('kafka', ON_POSTGRES_PER_SECOND),
    onInbox('rabbitmq', ON_POSTGRES_PER_SECOND),
    // Far below the limit, where nothing shares a transaction, and near it, where batches begin to grow.
    onInbox('kafka', 10),
    onInbox('kafka', 1_000),
  ],
}

function onInbox(system: 'kafka' | 'rabbitmq', perSecond: number): Scenario {
  const isKafka = system === 'kafka'
  const place = isKafka ? 'Kafka, 8 partitions' : `RabbitMQ, quorum queue, prefetch ${PREFETCH}`
  const byRow = 'a transaction for each message'
  return {
    name: perSecond === ON_POSTGRES_PER_SECOND ? `${system}-postgres` : `${system}-postgres-${perSecond}`,
    title: titled(`${place}, inbox in Postgres`, perSecond),
    messages: Math.max(100, SECONDS * perSecond),
    needs: [system, 'postgres'],
    contenders: named({
      [byRow]: (isKafka ? onKafkaByHand : onRabbitByHand)(perSecond, byInboxRow),
      postgresInbox: postgres(({ pacedInbox }) =>
        pacedInbox(isKafka ? lineOnKafka : lineOnRabbit, perSecond, isKafka ? onKafka : rabbit),
      ),
    }),
    ratios: [],
    bounds: bounds('postgresInbox', byRow),
  }
}
