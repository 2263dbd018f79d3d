import { noop, twoMs } from '../contenders/handlers.ts'
import { onKafka } from '../contenders/library/brokers.ts'
import { byPowertools, bySetNx } from '../contenders/once/once.ts'
import { lazily } from '../lazily.ts'
import { EIGHT_PARTITIONS, MOST_IN_ONE } from '../places/plans.ts'
import type { Contender, Scenario, Suite } from '../suite.ts'

const raw = lazily(() => import('../contenders/clients/kafkajs.ts'))
const library = lazily(() => import('../contenders/library/consume-once.ts'))
const inMemory = lazily(() => import('../contenders/library/memory-library.ts'))
const onRedis = lazily(() => import('../contenders/library/redis-library.ts'))
const each = lazily(() => import('../contenders/by-hand/kafka-each.ts'))
const redisLoops = lazily(() => import('../contenders/by-hand/redis-loops.ts'))
const onPostgres = lazily(() => import('../contenders/library/postgres-library.ts'))
const postgresLoops = lazily(() => import('../contenders/by-hand/postgres-loops.ts'))
const byHand = lazily(() => import('../contenders/by-hand/postgres-by-hand-kafka.ts'))
const eachByHand = lazily(() => import('../contenders/by-hand/postgres-each-kafka.ts'))
const outboxPackage = lazily(() => import('../contenders/by-hand/postgres-outbox-package.ts'))
const onJvm = lazily(() => import('../contenders/by-hand/parallel-consumer.ts'))
const beside = lazily(() => import('../contenders/stuck/stuck.ts'))
const besideRaw = lazily(() => import('../contenders/stuck/stuck-raw.ts'))

const prepareParallelConsumer: Contender['prepare'] = async () => (await import('../jvm/program.ts')).prepare()

const LEASES: readonly Contender[] = [
  { name: 'redisLease', run: onRedis(({ libraryOnRedis }) => libraryOnRedis(onKafka, noop)) },
  {
    name: 'redisLease, 256 at once',
    run: onRedis(({ libraryOnRedis }) => libraryOnRedis(onKafka, noop, { concurrency: 256 })),
  },
]
const HANDLE: Contender = {
  name: 'postgresInbox',
  run: onPostgres(({ handlersOnPostgres }) => handlersOnPostgres(onKafka)),
}
const HANDLE_BATCH: Contender = {
  name: 'postgresInbox, handleBatch of 500',
  run: onPostgres(({ libraryOnPostgres }) => libraryOnPostgres(onKafka, 500)),
}

/** Cost of the wrapper with a handler that costs nothing. */
const noStore: Scenario = {
  name: 'no-store',
  title: 'Kafka, 1 KB in 8 partitions, a fifth duplicates, no-op handler, no store on a server',
  messages: 100_000,
  repetitions: 3,
  needs: ['kafka'],
  place: EIGHT_PARTITIONS,
  contenders: [
    { name: 'eachMessage', run: raw(({ eachMessage }) => eachMessage(noop)) },
    { name: 'eachBatch', run: raw(({ eachBatch }) => eachBatch(noop)) },
    { name: 'adapter alone', run: library(({ adapterAlone }) => adapterAlone(onKafka, noop, 256)) },
    { name: 'runKafka, memoryStore', run: inMemory(({ libraryInMemory }) => libraryInMemory(onKafka, noop)) },
    {
      name: 'runKafka, memoryStore, 256 at once',
      run: inMemory(({ libraryInMemory }) => libraryInMemory(onKafka, noop, { concurrency: 256 })),
    },
  ],
  ratios: [
    { of: 'adapter alone', to: 'eachMessage', goal: 0.8 },
    { of: 'runKafka, memoryStore', to: 'eachMessage' },
    { of: 'runKafka, memoryStore, 256 at once', to: 'eachMessage' },
  ],
}

/** Leases in Redis: the store is to be the limit, not the wrapper. */
const redis: Scenario = {
  name: 'redis',
  title: 'Kafka, 1 KB in 8 partitions, a fifth duplicates, no-op handler, leases in Redis',
  messages: 100_000,
  repetitions: 3,
  needs: ['kafka', 'redis'],
  place: EIGHT_PARTITIONS,
  contenders: [
    { name: 'eachMessage, no deduplication', run: raw(({ eachMessage }) => eachMessage(noop)) },
    { name: 'eachBatch, no deduplication', run: raw(({ eachBatch }) => eachBatch(noop)) },
    {
      name: 'Parallel Consumer, 32 threads, no deduplication',
      prepare: prepareParallelConsumer,
      run: onJvm(({ parallelConsumer }) => parallelConsumer(0, 32)),
    },
    { name: 'loop over the store, 500', run: redisLoops(({ loopOverLease }) => loopOverLease(noop, 500)) },
    { name: 'loop with SET NX, 500', run: redisLoops(({ setNxLoop }) => setNxLoop(noop, 500)) },
    ...LEASES,
  ],
  ratios: LEASES.flatMap(({ name: of }) => [
    { of, to: 'loop over the store, 500', goal: 0.9 },
    { of, to: 'loop with SET NX, 500', goal: 0.9 },
    { of, to: 'eachMessage, no deduplication', goal: 0.8 },
    { of, to: 'Parallel Consumer, 32 threads, no deduplication' },
  ]),
}

/** The same beside what goes to Redis for each message by itself, and takes many times as long. */
const redisEach: Scenario = {
  name: 'redis-each',
  title:
    'Kafka, 1 KB in 8 partitions, a fifth duplicates, no-op handler, leases in Redis; message by message: 8 partitions at once',
  messages: 20_000,
  repetitions: 3,
  needs: ['kafka', 'redis'],
  place: EIGHT_PARTITIONS,
  contenders: [
    { name: 'SET NX, SET each', run: each(({ eachOnce }) => eachOnce(bySetNx, noop)) },
    { name: 'SET NX, SET, commit each', run: each(({ eachOnce }) => eachOnce(bySetNx, noop, 'each')) },
    { name: 'Powertools', run: each(({ eachOnce }) => eachOnce(byPowertools, noop)) },
    ...LEASES,
  ],
  ratios: LEASES.flatMap(({ name: of }) => [
    { of, to: 'SET NX, SET each' },
    { of, to: 'SET NX, SET, commit each', goal: 10 },
    { of, to: 'Powertools', goal: 5 },
  ]),
}

/** Gain from concurrency inside a partition with a handler that waits. */
const slowHandler: Scenario = {
  name: 'slow-handler',
  title: 'Kafka, 1 KB in 8 partitions, a fifth duplicates, handler of 2 ms, 10,000 keys in order, leases in Redis',
  messages: 30_000,
  repetitions: 3,
  needs: ['kafka', 'redis'],
  place: EIGHT_PARTITIONS,
  contenders: [
    { name: 'eachMessage, 4 partitions at once', run: raw(({ eachMessage }) => eachMessage(twoMs, 4)) },
    {
      name: 'Parallel Consumer, 32 threads',
      prepare: prepareParallelConsumer,
      run: onJvm(({ parallelConsumer }) => parallelConsumer(2, 32)),
    },
    {
      name: 'Parallel Consumer, 256 threads',
      prepare: prepareParallelConsumer,
      run: onJvm(({ parallelConsumer }) => parallelConsumer(2, 256)),
    },
    { name: 'SET NX, SET each', run: each(({ eachOnce }) => eachOnce(bySetNx, twoMs)) },
    { name: 'adapter alone, 256 at once', run: library(({ adapterAlone }) => adapterAlone(onKafka, twoMs, 256)) },
    {
      name: 'runKafka, memoryStore, 256 at once',
      run: inMemory(({ libraryInMemory }) => libraryInMemory(onKafka, twoMs, { concurrency: 256 })),
    },
    {
      name: 'redisLease, 256 at once',
      run: onRedis(({ libraryOnRedis }) => libraryOnRedis(onKafka, twoMs, { concurrency: 256 })),
    },
  ],
  ratios: [
    { of: 'adapter alone, 256 at once', to: 'eachMessage, 4 partitions at once', goal: 16 },
    { of: 'runKafka, memoryStore, 256 at once', to: 'eachMessage, 4 partitions at once', goal: 16 },
    { of: 'redisLease, 256 at once', to: 'eachMessage, 4 partitions at once', goal: 12 },
    { of: 'redisLease, 256 at once', to: 'Parallel Consumer, 32 threads', goal: 4 },
    { of: 'redisLease, 256 at once', to: 'Parallel Consumer, 256 threads' },
    { of: 'redisLease, 256 at once', to: 'SET NX, SET each' },
  ],
}

/** An inbox in Postgres: effect and mark of a batch in one transaction. */
const postgresBatch: Scenario = {
  name: 'postgres-batch',
  title: 'Kafka, 1 KB in 8 partitions, a fifth duplicates, rows of a batch in one statement, inbox in Postgres',
  messages: 100_000,
  repetitions: 3,
  needs: ['kafka', 'postgres'],
  place: EIGHT_PARTITIONS,
  contenders: [
    { name: 'by hand, 500', run: byHand(({ insertLoop }) => insertLoop(500, 'one')) },
    { name: 'by hand with attempts, 500', run: byHand(({ countedLoop }) => countedLoop(500, 'one')) },
    { name: 'loop over the store, 500', run: postgresLoops(({ loopOverInbox }) => loopOverInbox(500)) },
    HANDLE_BATCH,
  ],
  ratios: [
    { of: HANDLE_BATCH.name, to: 'by hand with attempts, 500', goal: 0.9 },
    { of: HANDLE_BATCH.name, to: 'by hand, 500', goal: 0.9 },
    { of: HANDLE_BATCH.name, to: 'loop over the store, 500' },
  ],
}

/** The same with a handler for each message, which writes its row itself. */
const postgresHandle: Scenario = {
  name: 'postgres-handle',
  title: 'Kafka, 1 KB in 8 partitions, a fifth duplicates, each row in a statement of its own, inbox in Postgres',
  messages: 50_000,
  repetitions: 3,
  needs: ['kafka', 'postgres'],
  place: EIGHT_PARTITIONS,
  contenders: [
    { name: 'by hand, 100', run: byHand(({ insertLoop }) => insertLoop(100, 'each')) },
    { name: 'by hand with attempts, 100', run: byHand(({ countedLoop }) => countedLoop(100, 'each')) },
    HANDLE,
    {
      name: 'postgresInbox, flush ticker',
      run: onPostgres(({ handlersOnPostgres }) => handlersOnPostgres(onKafka, { durability: 'flush-ticker' })),
    },
  ],
  ratios: [
    { of: HANDLE.name, to: 'by hand, 100', goal: 1 },
    { of: HANDLE.name, to: 'by hand with attempts, 100', goal: 1 },
    { of: 'postgresInbox, flush ticker', to: HANDLE.name, goal: 1.3 },
  ],
}

/** Both beside a transaction for each message, which takes many times as long. */
const postgresEach: Scenario = {
  name: 'postgres-each',
  title:
    'Kafka, 1 KB in 8 partitions, a fifth duplicates, a transaction for each message or for many, inbox in Postgres',
  messages: 10_000,
  repetitions: 3,
  needs: ['kafka', 'postgres'],
  place: EIGHT_PARTITIONS,
  contenders: [
    { name: 'a transaction for each message', run: eachByHand(({ insertEachMessage }) => insertEachMessage(1)) },
    {
      name: 'a transaction for each message, 4 partitions at once',
      run: eachByHand(({ insertEachMessage }) => insertEachMessage(4)),
    },
    HANDLE_BATCH,
    HANDLE,
  ],
  ratios: [
    { of: HANDLE_BATCH.name, to: 'a transaction for each message', goal: 10 },
    { of: HANDLE_BATCH.name, to: 'a transaction for each message, 4 partitions at once' },
    { of: HANDLE.name, to: 'a transaction for each message, 4 partitions at once', goal: 2 },
  ],
}

/** A package with an inbox of its own, at some hundred messages a second. */
const postgresPackage: Scenario = {
  name: 'postgres-package',
  title: 'Kafka, 1 KB in 8 partitions, a fifth duplicates, another inbox in Postgres',
  messages: 3_000,
  repetitions: 3,
  needs: ['kafka', 'postgres'],
  place: EIGHT_PARTITIONS,
  contenders: [
    { name: 'pg-transactional-outbox, polling', run: outboxPackage(({ pollingInbox }) => pollingInbox(4)) },
    HANDLE_BATCH,
    HANDLE,
  ],
  ratios: [
    { of: HANDLE_BATCH.name, to: 'pg-transactional-outbox, polling' },
    { of: HANDLE.name, to: 'pg-transactional-outbox, polling' },
  ],
}

/** Cost of a handler that never ends: for the other partitions, and in memory. */
const stuck: Scenario = {
  name: 'stuck',
  title: 'Kafka, 1 KB in 4 partitions, the first handler of one never ends, 7 of 10 messages lie behind it',
  messages: 300_000,
  repetitions: 1,
  needs: ['kafka'],
  place: MOST_IN_ONE,
  contenders: [
    {
      name: 'nothing stuck, key order',
      run: beside(({ besideStuck }) => besideStuck({ order: 'key', isStuck: false })),
    },
    { name: 'key order', run: beside(({ besideStuck }) => besideStuck({ order: 'key', isStuck: true })) },
    { name: 'partition order', run: beside(({ besideStuck }) => besideStuck({ order: 'partition', isStuck: true })) },
    {
      name: 'eachMessage, 4 partitions at once',
      run: besideRaw(({ eachMessageBesideStuck }) => eachMessageBesideStuck(4)),
    },
  ],
  ratios: [{ of: 'key order', to: 'nothing stuck, key order' }],
}

export const kafka: Suite = {
  name: 'kafka',
  packages: ['kafkajs', 'ioredis', 'redis', '@aws-lambda-powertools/idempotency', 'pg', 'pg-transactional-outbox'],
  smoke: 400,
  scenarios: [
    noStore,
    redis,
    redisEach,
    slowHandler,
    postgresBatch,
    postgresHandle,
    postgresEach,
    postgresPackage,
    stuck,
  ],
}
