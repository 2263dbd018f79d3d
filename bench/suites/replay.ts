import { onKafka } from '../contenders/library/brokers.ts'
import { RSS_LATE } from '../contenders/replay/replay-figures.ts'
import type { Shape } from '../contenders/store/postgres-store.ts'
import { lazily } from '../lazily.ts'
import { EIGHT_PARTITIONS, NO_DUPLICATES } from '../places/plans.ts'
import { named, type Contender, type Suite } from '../suite.ts'

const onRedis = lazily(() => import('../contenders/replay/replay-redis.ts'))
const onPostgres = lazily(() => import('../contenders/replay/replay-postgres.ts'))
const redisStore = lazily(() => import('../contenders/store/redis-store.ts'))
const postgresStore = lazily(() => import('../contenders/store/postgres-store.ts'))

const SET: Shape = { batchSize: 500, transactions: 4 }
const MGET = 'MGET of what kafkajs brings, 500'
const SELECT = 'select = any of what kafkajs brings, 500'

/** How often a topic of a million messages is replayed in one process. */
const TIMES = 10

/** It makes its own keys, one for each delivery. */
function ofDistinct(run: Contender['run']): Contender['run'] {
  return (job) => run({ ...job, ids: job.messages })
}

/** A topic that was handled completely is consumed again by another group of the same scope. The client is the upper limit. */
export const replay: Suite = {
  name: 'replay',
  packages: ['kafkajs', 'ioredis', 'pg'],
  smoke: 400,
  scenarios: [
    {
      name: 'redis',
      title: 'Kafka, 1 KB in 8 partitions, all of it done before, leases in Redis',
      messages: 100_000,
      needs: ['kafka', 'redis'],
      place: EIGHT_PARTITIONS,
      contenders: named({
        'MGET, no broker': ofDistinct(redisStore(({ duplicatesByMget }) => duplicatesByMget(500))),
        [MGET]: onRedis(({ mgetFromKafka }) => mgetFromKafka(500)),
        redisLease: onRedis(({ replayOnRedis }) => replayOnRedis(onKafka, { concurrency: 64 })),
        'redisLease, 256 at once': onRedis(({ replayOnRedis }) => replayOnRedis(onKafka, { concurrency: 256 })),
      }),
      ratios: [
        { of: 'redisLease', to: MGET, goal: 0.8 },
        { of: 'redisLease, 256 at once', to: MGET, goal: 0.8 },
        { of: 'redisLease, 256 at once', to: 'MGET, no broker' },
      ],
    },
    {
      name: 'postgres',
      title: 'Kafka, 1 KB in 8 partitions, all of it done before, inbox in Postgres',
      messages: 100_000,
      needs: ['kafka', 'postgres'],
      place: EIGHT_PARTITIONS,
      contenders: named({
        'select = any, no broker': ofDistinct(postgresStore(({ duplicatesBySelect }) => duplicatesBySelect(SET))),
        [SELECT]: onPostgres(({ selectFromKafka }) => selectFromKafka(500)),
        'postgresInbox, handleBatch of 500': onPostgres(({ replayOnPostgres }) => replayOnPostgres(onKafka, 500)),
      }),
      ratios: [
        { of: 'postgresInbox, handleBatch of 500', to: SELECT, goal: 0.8 },
        { of: 'postgresInbox, handleBatch of 500', to: 'select = any, no broker' },
      ],
    },
    {
      name: 'ten-million',
      title: `Kafka, a million messages of 1 KB in 8 partitions, all of them done before, replayed ${TIMES} times in one process`,
      messages: 1_000_000,
      repetitions: 1,
      needs: ['kafka', 'redis', 'postgres'],
      place: NO_DUPLICATES,
      contenders: named({
        redisLease: onRedis(({ replayAgainOnRedis }) => replayAgainOnRedis(onKafka, TIMES)),
        'postgresInbox, handleBatch of 500': onPostgres(({ replayAgainOnPostgres }) =>
          replayAgainOnPostgres(onKafka, TIMES, 500),
        ),
      }),
      ratios: [],
      // What is held grows neither with the messages nor with what was read.
      bounds: ['redisLease', 'postgresInbox, handleBatch of 500'].map((of) => ({
        of,
        figure: RSS_LATE,
        most: 400,
      })),
    },
  ],
}
