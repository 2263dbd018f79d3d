import { crashOnKafka, crashOnRabbit } from '../contenders/crash/crash-brokers.ts'
import { REPEATED } from '../contenders/crash/crash-figures.ts'
import { byPowertools, bySetNx } from '../contenders/once/once.ts'
import { lazily } from '../lazily.ts'
import { EIGHT_PARTITIONS } from '../places/plans.ts'
import { named, type Bound, type Contenders, type Scenario, type Suite } from '../suite.ts'

const PREFETCH = 1_000
const SLOTS = 64
const MORE_SLOTS = 256

const onRedis = lazily(() => import('../contenders/crash/crash-redis.ts'))
const onPostgres = lazily(() => import('../contenders/crash/crash-postgres.ts'))
const rabbit = crashOnRabbit(PREFETCH, 'quorum')

const repeated = (of: string, most: number): Bound => ({ of, figure: REPEATED, most, in: 'each' })

const leases = (broker: typeof rabbit): Contenders => ({
  'redisLease, rerun': onRedis(({ killedLease }) => killedLease(broker, {})),
  'redisLease, park': onRedis(({ killedLease }) => killedLease(broker, { onInDoubt: 'park' })),
})

const LEASE_BOUNDS: readonly Bound[] = [repeated('redisLease, rerun', SLOTS), repeated('redisLease, park', 0)]

const kafkaRedis: Scenario = {
  name: 'kafka-redis',
  title: 'Kafka, 8 partitions, leases in Redis; a worker killed at full speed: effects repeated, rates mean nothing',
  messages: 20_000,
  repetitions: 5,
  needs: ['kafka', 'redis'],
  place: EIGHT_PARTITIONS,
  contenders: named({
    'loop with SET NX, 500': onRedis(({ killedSetNxLoop }) => killedSetNxLoop(crashOnKafka, 500)),
    'SET NX, SET each': onRedis(({ killedEachOnce }) => killedEachOnce(crashOnKafka, bySetNx)),
    Powertools: onRedis(({ killedEachOnce }) => killedEachOnce(crashOnKafka, byPowertools)),
    ...leases(crashOnKafka),
    [`redisLease, rerun, ${MORE_SLOTS} at once`]: onRedis(({ killedLease }) =>
      killedLease(crashOnKafka, { concurrency: MORE_SLOTS }),
    ),
  }),
  ratios: [],
  // As many as there are slots.
  bounds: [...LEASE_BOUNDS, repeated(`redisLease, rerun, ${MORE_SLOTS} at once`, MORE_SLOTS)],
}

const rabbitRedis: Scenario = {
  name: 'rabbitmq-redis',
  title: `RabbitMQ, quorum queue, prefetch ${PREFETCH}, leases in Redis; a worker killed at full speed: effects repeated, rates mean nothing`,
  messages: 20_000,
  repetitions: 5,
  needs: ['rabbitmq', 'redis'],
  place: { queueType: 'quorum', duplicates: true },
  contenders: named({
    'SET NX, SET, ack each': onRedis(({ killedEachOnce }) => killedEachOnce(rabbit, bySetNx)),
    'Powertools, ack each': onRedis(({ killedEachOnce }) => killedEachOnce(rabbit, byPowertools)),
    ...leases(rabbit),
  }),
  ratios: [],
  bounds: LEASE_BOUNDS,
}

const INBOX = 'postgresInbox, handleBatch of 500'

const kafkaPostgres: Scenario = {
  name: 'kafka-postgres',
  title: 'Kafka, 8 partitions, inbox in Postgres; a worker killed at full speed: rows repeated, rates mean nothing',
  messages: 20_000,
  repetitions: 5,
  needs: ['kafka', 'postgres'],
  place: EIGHT_PARTITIONS,
  contenders: named({
    [INBOX]: onPostgres(({ killedInbox }) => killedInbox(crashOnKafka, 500)),
  }),
  ratios: [],
  bounds: [repeated(INBOX, 0)],
}

const rabbitPostgres: Scenario = {
  name: 'rabbitmq-postgres',
  title: `RabbitMQ, quorum queue, prefetch ${PREFETCH}, inbox in Postgres; a worker killed at full speed: rows repeated, rates mean nothing`,
  messages: 20_000,
  repetitions: 5,
  needs: ['rabbitmq', 'postgres'],
  place: { queueType: 'quorum', duplicates: true },
  contenders: named({
    [INBOX]: onPostgres(({ killedInbox }) => killedInbox(rabbit, 500)),
  }),
  ratios: [],
  bounds: [repeated(INBOX, 0)],
}

/** Cost of `kill -9`: repeated effects. A missing effect fails the run. */
export const crash: Suite = {
  name: 'crash',
  packages: ['kafkajs', 'amqplib', 'ioredis', 'redis', '@aws-lambda-powertools/idempotency', 'pg'],
  smoke: 400,
  scenarios: [kafkaRedis, rabbitRedis, kafkaPostgres, rabbitPostgres],
}
