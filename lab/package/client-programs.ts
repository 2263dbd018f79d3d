import { type ServerName } from '../../test/kit/servers/catalogue.ts'

/** The ends of each range of `peerDependencies`: programs below run with the packed package and all clients of one end. */
export const LOWEST: Readonly<Record<string, string>> = {
  '@electric-sql/pglite': '0.3.0',
  '@opentelemetry/api': '1.9.0',
  '@platformatic/kafka': '2.2.3',
  amqplib: '0.10.9',
  fastify: '4.0.0',
  ioredis: '5.0.0',
  kafkajs: '2.2.4',
  'lru-cache': '11.0.0',
  mysql2: '3.6.0',
  pg: '8.0.3',
  pino: '9.0.0',
  'prom-client': '14.0.0',
  'rate-limiter-flexible': '11.0.0',
  redis: '5.0.0',
}
export const HIGHEST: Readonly<Record<string, string>> = Object.fromEntries(
  Object.keys(LOWEST).map((name) => [
    name,
    { kafkajs: '2.3.0-beta.3', amqplib: '2', '@opentelemetry/api': '1' }[name] ?? 'latest',
  ]),
)

/** nest.test.ts and nest-transports.test.ts run both ends of their ranges. */
export const OF_NEST: ReadonlySet<string> = new Set([
  '@golevelup/nestjs-rabbitmq',
  '@nestjs/common',
  '@nestjs/core',
  '@nestjs/microservices',
])

/** They run on Node 24 alone, or also on it. */
export const NEWER_NODE: ReadonlySet<string> = new Set(['@platformatic/kafka'])

/** Handles a message that is published twice once, on a store. The end of each program says how often. */
export const ON_MEMORY = `
const { defineConsumer } = require('consume-once')
const { MemoryBroker, memoryStore, runMemory } = require('consume-once/memory')
const own = 'range-' + process.pid
const consumer = (store, more) => {
  const sent = []
  const handle = () => void sent.push(1)
  return { sent, defined: defineConsumer({ name: own, id: () => own, store, handle, ...more }) }
}
async function twice(store, more) {
  const { sent, defined } = consumer(store, more)
  const broker = new MemoryBroker()
  for (let copy = 0; copy < 2; copy++) broker.publish('sms', { value: Buffer.from('{}') })
  const running = await runMemory(broker, defined, { topic: 'sms', group: own })
  await running.ready()
  await broker.drained('sms', own)
  await running.stop()
  return sent.length
}
const until = async (holds) => { while (!(await holds())) await new Promise((go) => setTimeout(go, 20)) }
`

export const PROGRAMS: readonly (readonly [client: string, needs: ServerName | undefined, program: string])[] = [
  [
    'ioredis',
    'redis',
    `
    const redis = new (require('ioredis'))(at)
    const { redisLease } = require('consume-once/redis')
    console.log(await twice(redisLease({ redis })))
    redis.disconnect()`,
  ],
  [
    'redis',
    'redis',
    `
    const redis = await require('redis').createClient({ url: at }).connect()
    const { redisLease } = require('consume-once/redis')
    console.log(await twice(redisLease({ redis })))
    redis.destroy()`,
  ],
  [
    'pg',
    'postgres',
    `
    const pool = new (require('pg').Pool)({ connectionString: at })
    const { postgresInbox, postgresLease } = require('consume-once/pg')
    const handle = { handle: ({ tx }) => tx.query('select 1').then(() => {}) }
    console.log(await twice(postgresLease({ pool, setup: 'auto' })))
    await twice(postgresInbox({ pool, setup: 'auto' }), handle)
    await pool.end()`,
  ],
  [
    'mysql2',
    'mariadb',
    `
    const pool = require('mysql2/promise').createPool(at)
    const { mysqlInbox, mysqlLease } = require('consume-once/mysql2')
    const handle = { handle: ({ tx }) => tx.query('select 1').then(() => {}) }
    console.log(await twice(mysqlLease({ pool, setup: 'auto' })))
    await twice(mysqlInbox({ pool, setup: 'auto' }), handle)
    await pool.end()`,
  ],
  [
    '@electric-sql/pglite',
    undefined,
    `
    const pglite = await require('@electric-sql/pglite').PGlite.create()
    const { pgliteLease, postgresMigrationSql } = require('consume-once/pg')
    await pglite.exec(postgresMigrationSql())
    console.log(await twice(pgliteLease({ pglite })))
    await pglite.close()`,
  ],
  [
    'amqplib',
    'rabbitmq',
    `
    const { runRabbit } = require('consume-once/amqplib')
    const connection = await require('amqplib').connect(at)
    const channel = await connection.createConfirmChannel()
    await channel.assertQueue(own, { arguments: { 'x-queue-type': 'quorum' } })
    for (let copy = 0; copy < 2; copy++) channel.sendToQueue(own, Buffer.from('{}'), { persistent: true })
    await channel.waitForConfirms()
    const { sent, defined } = consumer(memoryStore())
    const running = runRabbit(at, defined, { queue: own })
    await running.ready()
    await until(async () => sent.length > 0 && (await channel.checkQueue(own)).messageCount === 0)
    await running.stop()
    console.log(sent.length)
    await channel.deleteQueue(own)
    await connection.close()`,
  ],
  [
    'kafkajs',
    'kafka',
    `
    const { runKafka, quietKafkaTimers } = require('consume-once/kafkajs')
    const kafka = new (require('kafkajs').Kafka)({ brokers: at.split(','), logLevel: 0 })
    if (!(await quietKafkaTimers(kafka))) throw new Error('not quiet')
    const [admin, producer] = [kafka.admin(), kafka.producer()]
    await Promise.all([admin.connect(), producer.connect()])
    await admin.createTopics({ topics: [{ topic: own }] })
    const { sent, defined } = consumer(memoryStore())
    const running = runKafka(kafka, defined, { topics: [own], group: own })
    await running.ready()
    await producer.send({ topic: own, messages: [{ value: '{}' }, { value: '{}' }] })
    await until(() => sent.length > 0)
    await running.stop()
    console.log(sent.length)
    await admin.deleteTopics({ topics: [own] })
    await Promise.all([admin.disconnect(), producer.disconnect()])`,
  ],
  [
    '@platformatic/kafka',
    'kafka',
    `
    const platformatic = require('@platformatic/kafka')
    const { platformaticKafka, runKafka } = require('consume-once/platformatic-kafka')
    const { Kafka } = require('kafkajs')
    const plain = new Kafka({ brokers: at.split(','), logLevel: 0 })
    await require('consume-once/kafkajs').quietKafkaTimers(plain)
    const [admin, producer] = [plain.admin(), plain.producer()]
    await Promise.all([admin.connect(), producer.connect()])
    const ends = []
    for (const groupProtocol of ['classic', 'consumer']) {
      const topic = own + groupProtocol
      await admin.createTopics({ topics: [{ topic }] })
      const { sent, defined } = consumer(memoryStore())
      const kafka = platformaticKafka(platformatic, { clientId: own, bootstrapBrokers: at.split(',') })
      const running = runKafka(kafka, defined, { topics: [topic], group: topic, consumerConfig: { groupProtocol } })
      await running.ready()
      await producer.send({ topic, messages: [{ value: '{}' }, { value: '{}' }] })
      await until(() => sent.length > 0)
      await running.stop()
      ends.push(sent.length)
    }
    await admin.deleteTopics({ topics: [own + 'classic', own + 'consumer'] })
    console.log(Math.max(...ends))
    await Promise.all([admin.disconnect(), producer.disconnect()])`,
  ],
  [
    'lru-cache',
    undefined,
    `
    const { withDoneCache } = require('consume-once/lru-cache')
    console.log(await twice(withDoneCache(memoryStore(), { maxKeys: 9 })))`,
  ],
  [
    'pino',
    undefined,
    `
    const { pinoLog } = require('consume-once/pino')
    console.log(await twice(memoryStore(), { log: pinoLog(require('pino')({ level: 'silent' })) }))`,
  ],
  [
    'prom-client',
    undefined,
    `
    const { Registry } = require('prom-client')
    const { prometheus } = require('consume-once/prometheus')
    const registry = new Registry()
    console.log(await twice(memoryStore(), { observe: prometheus({ registry }) }))
    if (!(await registry.metrics()).includes('consume_once')) throw new Error('no metrics')`,
  ],
  [
    'rate-limiter-flexible',
    'redis',
    `
    const redis = new (require('ioredis'))(at)
    const { redisLimit } = require('consume-once/rate-limiter-flexible')
    const shared = redisLimit({ redis, name: own })
    console.log(await twice(memoryStore(), { limit: { perSecond: 9, shared } }))
    if ((await redis.keys('*' + own + '*')).length === 0) throw new Error('nothing counted')
    redis.disconnect()`,
  ],
  [
    '@opentelemetry/api',
    undefined,
    `
    const { otelTracing, otelMetricProducer } = require('consume-once/otel')
    const producer = otelMetricProducer()
    console.log(await twice(memoryStore(), { trace: otelTracing(), observe: producer.observe }))
    await producer.collect()`,
  ],
  [
    'fastify',
    undefined,
    `
    const fastify = require('fastify')()
    const { sent, defined } = consumer(memoryStore())
    const broker = new MemoryBroker()
    const start = () => ({ sms: runMemory(broker, defined, { topic: 'sms', group: own }) })
    fastify.register(require('consume-once/fastify').consumeOncePlugin, { start, waitForReady: true })
    await fastify.ready()
    for (let copy = 0; copy < 2; copy++) broker.publish('sms', { value: Buffer.from('{}') })
    await broker.drained('sms', own)
    console.log(sent.length)
    await fastify.close()`,
  ],
]
