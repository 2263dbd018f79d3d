import { noop, twoMs } from '../contenders/handlers.ts'
import { onKafka, onPlatformatic } from '../contenders/library/brokers.ts'
import { byPowertools, bySetNx } from '../contenders/once/once.ts'
import { lazily } from '../lazily.ts'
import { EIGHT_PARTITIONS, MOST_IN_ONE } from '../places/plans.ts'
import { CPU_EACH, named, type Contender, type Contenders, type Scenario, type Suite } from '../suite.ts'

const raw = lazily(() => import('../contenders/clients/kafkajs.ts'))
const rawPlatformatic = lazily(() => import('../contenders/clients/platformatic.ts'))
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

const LEASES: Contenders = {
  redisLease: onRedis(({ libraryOnRedis }) => libraryOnRedis(onKafka, noop)),
  'redisLease, 256 at once': onRedis(({ libraryOnRedis }) => libraryOnRedis(onKafka, noop, { concurrency: 256 })),
}
const HANDLE = 'postgresInbox'
const HANDLE_BATCH = 'postgresInbox, handleBatch of 500'
const handle = onPostgres(({ handlersOnPostgres }) => handlersOnPostgres(onKafka))
const handleBatch = onPostgres(({ libraryOnPostgres }) => libraryOnPostgres(onKafka, 500))

const parallel = (handlerMs: number, threads: number): Contenders[string] => ({
  prepare: async () => (await import('../jvm/program.ts')).prepare(),
  run: onJvm(({ parallelConsumer }) => parallelConsumer(handlerMs, threads)),
})

/** Cost of the wrapper with a handler that costs nothing. */
const noStore: Scenario = {
  name: 'no-store',
  title: 'Kafka, 1 KB in 8 partitions, a fifth duplicates, no-op handler, no store on a server',
  messages: 100_000,
  needs: ['kafka'],
  place: EIGHT_PARTITIONS,
  contenders: named({
    eachMessage: raw(({ eachMessage }) => eachMessage(noop)),
    eachBatch: raw(({ eachBatch }) => eachBatch(noop)),
    'adapter alone': library(({ adapterAlone }) => adapterAlone(onKafka, noop, 256)),
    'runKafka, memoryStore': inMemory(({ libraryInMemory }) => libraryInMemory(onKafka, noop)),
    'runKafka, memoryStore, 256 at once': inMemory(({ libraryInMemory }) =>
      libraryInMemory(onKafka, noop, { concurrency: 256 }),
    ),
  }),
  ratios: [
    { of: 'adapter alone', to: 'eachMessage', goal: 0.8 },
    { of: 'runKafka, memoryStore', to: 'eachMessage' },
    { of: 'runKafka, memoryStore, 256 at once', to: 'eachMessage' },
  ],
}

/** What needs @platformatic/kafka, which needs a newer Node than this package. */
const onNewNode = (run: Contender['run']): Contenders[string] => ({
  prepare: async () => {
    const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
    if (major > 24 || (major === 24 && minor >= 6) || (major === 22 && minor >= 22)) return {}
    throw new Error(
      `expected Node 22.22 or 24.6 and later, got ${process.versions.node}: npx --package=node@24 -- npm run bench`,
    )
  },
  run,
})

/** The two clients of Kafka, each beside its own loop. */
const clients: Scenario = {
  name: 'clients',
  title: 'Kafka, 1 KB in 8 partitions, a fifth duplicates, no-op handler, no store on a server, two clients',
  messages: 300_000, // Fewer have been fetched, and decoded, before the first is measured.
  needs: ['kafka'],
  place: EIGHT_PARTITIONS,
  contenders: named({
    'kafkajs, eachMessage': raw(({ eachMessage }) => eachMessage(noop)),
    'kafkajs, adapter alone': library(({ adapterAlone }) => adapterAlone(onKafka, noop, 256)),
    'kafkajs, runKafka, 256 at once': inMemory(({ libraryInMemory }) =>
      libraryInMemory(onKafka, noop, { concurrency: 256 }),
    ),
    '@platformatic/kafka, stream': onNewNode(rawPlatformatic(({ eachOfStream }) => eachOfStream(noop))),
    '@platformatic/kafka, adapter alone': onNewNode(
      library(({ adapterAlone }) => adapterAlone(onPlatformatic, noop, 256)),
    ),
    '@platformatic/kafka, runKafka, 256 at once': onNewNode(
      inMemory(({ libraryInMemory }) => libraryInMemory(onPlatformatic, noop, { concurrency: 256 })),
    ),
  }),
  ratios: [
    { of: 'kafkajs, adapter alone', to: 'kafkajs, eachMessage', goal: 0.8 },
    { of: '@platformatic/kafka, adapter alone', to: '@platformatic/kafka, stream', goal: 0.8 },
    { of: '@platformatic/kafka, runKafka, 256 at once', to: '@platformatic/kafka, stream' },
    { of: '@platformatic/kafka, runKafka, 256 at once', to: 'kafkajs, runKafka, 256 at once' },
  ],
}

/** Leases in Redis: the store is to be the limit, not the wrapper. */
const redis: Scenario = {
  name: 'redis',
  title: 'Kafka, 1 KB in 8 partitions, a fifth duplicates, no-op handler, leases in Redis',
  messages: 100_000,
  needs: ['kafka', 'redis'],
  place: EIGHT_PARTITIONS,
  contenders: named({
    'eachMessage, no deduplication': raw(({ eachMessage }) => eachMessage(noop)),
    'eachBatch, no deduplication': raw(({ eachBatch }) => eachBatch(noop)),
    'Parallel Consumer, 32 threads, no deduplication': parallel(0, 32),
    'loop over the store, 500': redisLoops(({ loopOverLease }) => loopOverLease(noop, 500)),
    'loop with SET NX, 500': redisLoops(({ setNxLoop }) => setNxLoop(noop, 500)),
    ...LEASES,
  }),
  ratios: Object.keys(LEASES).flatMap((of) => [
    { of, to: 'loop over the store, 500' },
    { of, to: 'loop with SET NX, 500', goal: of === 'redisLease' ? 0.95 : 1 },
    { of, to: 'eachMessage, no deduplication' },
    { of, to: 'Parallel Consumer, 32 threads, no deduplication' },
  ]),
}

/** The same beside what goes to Redis for each message by itself, and takes many times as long. */
const redisEach: Scenario = {
  name: 'redis-each',
  title:
    'Kafka, 1 KB in 8 partitions, a fifth duplicates, no-op handler, leases in Redis; message by message: 8 partitions at once',
  messages: 20_000,
  needs: ['kafka', 'redis'],
  place: EIGHT_PARTITIONS,
  contenders: named({
    'SET NX, SET each': each(({ eachOnce }) => eachOnce(bySetNx, noop)),
    'SET NX, SET, commit each': each(({ eachOnce }) => eachOnce(bySetNx, noop, 'each')),
    Powertools: each(({ eachOnce }) => eachOnce(byPowertools, noop)),
    ...LEASES,
  }),
  ratios: Object.keys(LEASES).flatMap((of) => [
    { of, to: 'SET NX, SET each' },
    { of, to: 'SET NX, SET, commit each', goal: 10 },
    { of, to: 'Powertools', goal: 5 },
  ]),
}

/**
 * Gain from concurrency inside a partition with a handler that waits. Handlers of 2 ms bound what any engine can do: 64 at once
 * 32,000 messages a second, so one that comes near that can be beaten by little; 256 at once 128,000.
 */
const slowHandler: Scenario = {
  name: 'slow-handler',
  title: 'Kafka, 1 KB in 8 partitions, a fifth duplicates, handler of 2 ms, 10,000 keys in order, leases in Redis',
  messages: 60_000,
  needs: ['kafka', 'redis'],
  place: EIGHT_PARTITIONS,
  contenders: named({
    'eachMessage, 4 partitions at once': raw(({ eachMessage }) => eachMessage(twoMs, 4)),
    'Parallel Consumer, 64 threads': parallel(2, 64),
    'Parallel Consumer, 256 threads': parallel(2, 256),
    'SET NX, SET each': each(({ eachOnce }) => eachOnce(bySetNx, twoMs)),
    'adapter alone, 256 at once': library(({ adapterAlone }) => adapterAlone(onKafka, twoMs, 256)),
    'runKafka, memoryStore, 256 at once': inMemory(({ libraryInMemory }) =>
      libraryInMemory(onKafka, twoMs, { concurrency: 256 }),
    ),
    'redisLease, 64 at once': onRedis(({ libraryOnRedis }) => libraryOnRedis(onKafka, twoMs, { concurrency: 64 })),
    'redisLease, 256 at once': onRedis(({ libraryOnRedis }) => libraryOnRedis(onKafka, twoMs, { concurrency: 256 })),
  }),
  ratios: [
    { of: 'adapter alone, 256 at once', to: 'eachMessage, 4 partitions at once', goal: 16 },
    { of: 'runKafka, memoryStore, 256 at once', to: 'eachMessage, 4 partitions at once', goal: 16 },
    { of: 'redisLease, 256 at once', to: 'eachMessage, 4 partitions at once', goal: 12 },
    { of: 'redisLease, 64 at once', to: 'Parallel Consumer, 64 threads', goal: 1 },
    { of: 'redisLease, 256 at once', to: 'Parallel Consumer, 256 threads', goal: 1.5 },
    { of: 'redisLease, 256 at once', to: 'SET NX, SET each' },
  ],
  bounds: [64, 256].map((slots) => ({
    of: `redisLease, ${slots} at once`,
    figure: CPU_EACH,
    most: 1,
    timesThatOf: `Parallel Consumer, ${slots} threads`,
  })),
}

/** An inbox in Postgres: effect and mark of a batch in one transaction. */
const postgresBatch: Scenario = {
  name: 'postgres-batch',
  title: 'Kafka, 1 KB in 8 partitions, a fifth duplicates, rows of a batch in one statement, inbox in Postgres',
  messages: 100_000,
  needs: ['kafka', 'postgres'],
  place: EIGHT_PARTITIONS,
  contenders: named({
    'by hand, 500': byHand(({ insertLoop }) => insertLoop(500, 'one')),
    'by hand with attempts, 500': byHand(({ countedLoop }) => countedLoop(500, 'one')),
    'loop over the store, 500': postgresLoops(({ loopOverInbox }) => loopOverInbox(500)),
    [HANDLE_BATCH]: handleBatch,
  }),
  ratios: [
    { of: HANDLE_BATCH, to: 'by hand with attempts, 500' },
    { of: HANDLE_BATCH, to: 'by hand, 500', goal: 0.9 },
    { of: HANDLE_BATCH, to: 'loop over the store, 500' },
  ],
}

/** The same with a handler for each message, which writes its row itself. */
const postgresHandle: Scenario = {
  name: 'postgres-handle',
  title: 'Kafka, 1 KB in 8 partitions, a fifth duplicates, each row in a statement of its own, inbox in Postgres',
  messages: 50_000,
  needs: ['kafka', 'postgres'],
  place: EIGHT_PARTITIONS,
  contenders: named({
    'by hand, 100': byHand(({ insertLoop }) => insertLoop(100, 'each')),
    'by hand with attempts, 100': byHand(({ countedLoop }) => countedLoop(100, 'each')),
    [HANDLE]: handle,
    'postgresInbox, flush ticker': onPostgres(({ handlersOnPostgres }) =>
      handlersOnPostgres(onKafka, { durability: 'flush-ticker' }),
    ),
  }),
  ratios: [
    { of: HANDLE, to: 'by hand, 100', goal: 1.2 },
    { of: HANDLE, to: 'by hand with attempts, 100' },
    { of: 'postgresInbox, flush ticker', to: HANDLE, goal: 1.3 },
  ],
}

/** Both beside a transaction for each message, which takes many times as long. */
const postgresEach: Scenario = {
  name: 'postgres-each',
  title:
    'Kafka, 1 KB in 8 partitions, a fifth duplicates, a transaction for each message or for many, inbox in Postgres',
  messages: 10_000,
  needs: ['kafka', 'postgres'],
  place: EIGHT_PARTITIONS,
  contenders: named({
    'a transaction for each message': eachByHand(({ insertEachMessage }) => insertEachMessage(1)),
    'a transaction for each message, 4 partitions at once': eachByHand(({ insertEachMessage }) => insertEachMessage(4)),
    [HANDLE_BATCH]: handleBatch,
    [HANDLE]: handle,
  }),
  ratios: [
    { of: HANDLE_BATCH, to: 'a transaction for each message', goal: 10 },
    { of: HANDLE_BATCH, to: 'a transaction for each message, 4 partitions at once' },
    { of: HANDLE, to: 'a transaction for each message, 4 partitions at once', goal: 2 },
  ],
}

/** A package with an inbox of its own, at some hundred messages a second. */
const postgresPackage: Scenario = {
  name: 'postgres-package',
  title: 'Kafka, 1 KB in 8 partitions, a fifth duplicates, another inbox in Postgres',
  messages: 3_000,
  needs: ['kafka', 'postgres'],
  place: EIGHT_PARTITIONS,
  contenders: named({
    'pg-transactional-outbox, polling': outboxPackage(({ pollingInbox }) => pollingInbox(4)),
    [HANDLE_BATCH]: handleBatch,
    [HANDLE]: handle,
  }),
  ratios: [
    { of: HANDLE_BATCH, to: 'pg-transactional-outbox, polling' },
    { of: HANDLE, to: 'pg-transactional-outbox, polling' },
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
  contenders: named({
    'nothing stuck, key order': beside(({ besideStuck }) => besideStuck({ order: 'key', isStuck: false })),
    'key order': beside(({ besideStuck }) => besideStuck({ order: 'key', isStuck: true })),
    'partition order': beside(({ besideStuck }) => besideStuck({ order: 'partition', isStuck: true })),
    'eachMessage, 4 partitions at once': besideRaw(({ eachMessageBesideStuck }) => eachMessageBesideStuck(4)),
  }),
  ratios: [{ of: 'key order', to: 'nothing stuck, key order' }],
}

export const kafka: Suite = {
  name: 'kafka',
  packages: ['kafkajs', 'ioredis', 'redis', '@aws-lambda-powertools/idempotency', 'pg', 'pg-transactional-outbox'],
  smoke: 400,
  scenarios: [
    noStore,
    clients,
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
