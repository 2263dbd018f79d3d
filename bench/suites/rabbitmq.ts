import { noop } from '../contenders/handlers.ts'
import { onRabbit } from '../contenders/library/brokers.ts'
import { byPowertools, bySetNx } from '../contenders/once/once.ts'
import { lazily } from '../lazily.ts'
import { named, type Scenario, type Suite } from '../suite.ts'

const PREFETCH = 1_000

const onQuorum = onRabbit(PREFETCH, 'quorum')

const raw = lazily(() => import('../contenders/clients/amqplib.ts'))
const library = lazily(() => import('../contenders/library/consume-once.ts'))
const onRedis = lazily(() => import('../contenders/library/redis-library.ts'))
const each = lazily(() => import('../contenders/by-hand/rabbit-each.ts'))
const onPostgres = lazily(() => import('../contenders/library/postgres-library.ts'))
const postgresEach = lazily(() => import('../contenders/by-hand/postgres-each.ts'))
const byHand = lazily(() => import('../contenders/by-hand/postgres-by-hand-rabbit.ts'))

/** Leases in Redis, compared with no deduplication and with code written by hand. */
const REDIS: Scenario = {
  name: 'redis-quorum',
  title: `RabbitMQ, 1 KB persistent in a quorum queue, a fifth duplicates, prefetch ${PREFETCH}, no-op handler, leases in Redis`,
  messages: 50_000,
  needs: ['rabbitmq', 'redis'],
  place: { queueType: 'quorum', duplicates: true },
  contenders: named({
    'ack each, no deduplication': raw(({ ackEach }) => ackEach(noop, PREFETCH)),
    'SET NX, SET, ack each': each(({ ackEachOnce }) => ackEachOnce(bySetNx, noop, PREFETCH)),
    'Powertools, ack each': each(({ ackEachOnce }) => ackEachOnce(byPowertools, noop, PREFETCH)),
    'adapter alone': library(({ adapterAlone }) => adapterAlone(onQuorum, noop, 256)),
    redisLease: onRedis(({ libraryOnRedis }) => libraryOnRedis(onQuorum, noop)),
    'redisLease, 256 at once': onRedis(({ libraryOnRedis }) => libraryOnRedis(onQuorum, noop, { concurrency: 256 })),
  }),
  ratios: [
    { of: 'adapter alone', to: 'ack each, no deduplication' },
    { of: 'redisLease', to: 'ack each, no deduplication', goal: 0.7 },
    { of: 'redisLease, 256 at once', to: 'ack each, no deduplication' },
    { of: 'redisLease', to: 'SET NX, SET, ack each', goal: 1.5 },
    { of: 'redisLease, 256 at once', to: 'SET NX, SET, ack each' },
    { of: 'redisLease', to: 'Powertools, ack each' },
    { of: 'redisLease, 256 at once', to: 'Powertools, ack each' },
  ],
}

/** An inbox in Postgres: one transaction for each message by hand, or one for hundreds. */
const POSTGRES: Scenario = {
  name: 'postgres-quorum',
  title: `RabbitMQ, 1 KB persistent in a quorum queue, a fifth duplicates, prefetch ${PREFETCH}, a row for each message, inbox in Postgres`,
  messages: 15_000,
  needs: ['rabbitmq', 'postgres'],
  place: { queueType: 'quorum', duplicates: true },
  contenders: named({
    'a transaction for each message': postgresEach(({ insertEach }) => insertEach(PREFETCH)),
    'by hand, 500': byHand(({ insertGathered }) => insertGathered(500, 'one', PREFETCH)),
    'by hand, 100, rows one by one': byHand(({ insertGathered }) => insertGathered(100, 'each', PREFETCH)),
    'postgresInbox, handleBatch of 500': onPostgres(({ libraryOnPostgres }) => libraryOnPostgres(onQuorum, 500)),
    'postgresInbox, handle': onPostgres(({ handlersOnPostgres }) => handlersOnPostgres(onQuorum)),
    'postgresInbox, handle, flush ticker': onPostgres(({ handlersOnPostgres }) =>
      handlersOnPostgres(onQuorum, { durability: 'flush-ticker' }),
    ),
  }),
  ratios: [
    { of: 'postgresInbox, handleBatch of 500', to: 'a transaction for each message', goal: 5 },
    { of: 'postgresInbox, handleBatch of 500', to: 'by hand, 500' },
    { of: 'postgresInbox, handle', to: 'a transaction for each message' },
    { of: 'postgresInbox, handle', to: 'by hand, 100, rows one by one' },
    { of: 'postgresInbox, handle, flush ticker', to: 'postgresInbox, handle' },
  ],
}

export const rabbitmq: Suite = {
  name: 'rabbitmq',
  packages: ['amqplib', 'ioredis', 'redis', '@aws-lambda-powertools/idempotency', 'pg'],
  smoke: 400,
  scenarios: [REDIS, POSTGRES],
}
