import { randomBytes, hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClaimItem, Store } from 'consume-once'
import { redisLease } from 'consume-once/ioredis'
import { Redis } from 'ioredis'
import type { KafkaMessage } from 'kafkajs'
import { serverOf, type Job, type Measurement } from '../suite.ts'
import { ID_HEADER, Tally } from '../tally.ts'
import { consumeAll } from './amqplib.ts'
import type { Broker } from './broker.ts'
import { withStore, type Settings } from './consume-once.ts'
import { consumeInBatches, distinct, type Handle } from './kafkajs.ts'

/** What is left behind by a run that was killed goes by itself. */
const RETENTION_MS = 600_000
const LEASE_MS = 30_000
const BUSY_POLL_MS = 10

/** The library on Redis. */
export function libraryOnRedis(
  broker: Broker,
  handle: Handle,
  settings: Settings = {},
): (job: Job) => Promise<Measurement> {
  return (job) =>
    onRedis(job, (redis) => {
      const store = redisLease({ redis, prefix: job.name })
      return withStore(broker, store, handle, { retentionMs: RETENTION_MS, ...settings })(job)
    })
}

/** A loop by hand over the same store: claims a batch, handles it, marks it. The most that the store can give. */
export function loopOverLease(handle: Handle, batchSize: number): (job: Job) => Promise<Measurement> {
  return (job) =>
    onRedis(job, async (redis) => {
      const tally = new Tally(job)
      const store: Store = redisLease({ redis, prefix: job.name })
      await store.open()
      const handleBatch = async (batch: readonly KafkaMessage[]): Promise<void> => {
        const messages = distinct(batch)
        const answers = await store.claim({
          scope: job.name,
          token: randomBytes(9).toString('base64url'),
          leaseMs: LEASE_MS,
          retentionMs: RETENTION_MS,
          alone: false,
          items: messages.map(itemOf),
        })
        const claims = []
        for (const [at, answer] of answers.entries()) {
          if (answer.verdict === 'done') continue
          if (answer.verdict !== 'claimed') throw new Error(`expected a claim, got ${answer.verdict}`)
          tally.started(messages[at]?.headers?.[ID_HEADER])
          await handle()
          claims.push(answer.claim)
        }
        const verdicts = claims.length === 0 ? [] : await store.mark(claims)
        if (verdicts.some((verdict) => verdict !== 'marked')) throw new Error(`not marked: ${verdicts.join(' ')}`)
        tally.ended(batch.length)
      }
      return consumeInBatches(job, tally, batchSize, handleBatch)
    })
}

/** What is written by hand most often: SET NX before, SET after, in pipelines. No lease, no digest, no attempts. */
export function setNxLoop(handle: Handle, batchSize: number): (job: Job) => Promise<Measurement> {
  return (job) =>
    onRedis(job, (redis) => {
      const tally = new Tally(job)
      const keyOf = ({ headers }: KafkaMessage): string => `${job.name}:${String(headers?.[ID_HEADER])}`
      const handleBatch = async (batch: readonly KafkaMessage[]): Promise<void> => {
        const messages = distinct(batch)
        const claims = redis.pipeline()
        for (const message of messages) claims.set(keyOf(message), 'processing', 'PX', LEASE_MS, 'NX', 'GET')
        const answers = (await claims.exec()) ?? []
        const marks = redis.pipeline()
        for (const [at, message] of messages.entries()) {
          const [error, before] = answers[at] ?? [new Error('expected an answer for each key')]
          if (error !== null) throw error
          if (before === 'done') continue
          if (before !== null) throw new Error(`expected none or done, got ${JSON.stringify(before)}`)
          tally.started(message.headers?.[ID_HEADER])
          await handle()
          marks.set(keyOf(message), 'done', 'PX', RETENTION_MS)
        }
        for (const [error] of (await marks.exec()) ?? []) if (error !== null) throw error
        tally.ended(batch.length)
      }
      return consumeInBatches(job, tally, batchSize, handleBatch)
    })
}

/** What a careful worker of RabbitMQ does by hand: SET NX before, SET after, then ack, for each message by itself. */
export function setNxEach(handle: Handle, prefetch: number): (job: Job) => Promise<Measurement> {
  return (job) =>
    onRedis(job, (redis) => {
      const tally = new Tally(job)
      return consumeAll(job, tally, prefetch, async ({ properties }) => {
        const id: unknown = properties.messageId
        const key = `${job.name}:${String(id)}`
        for (;;) {
          const before = await redis.set(key, 'processing', 'PX', LEASE_MS, 'NX', 'GET')
          if (before === 'done') return
          if (before === null) break
          // Another delivery of it is under way: acked now, it would be lost if that one failed.
          await sleep(BUSY_POLL_MS)
        }
        tally.started(id)
        await handle()
        await redis.set(key, 'done', 'PX', RETENTION_MS)
      })
    })
}

/** Key and digest as a store wants them. */
export function itemOf({ headers, value }: KafkaMessage): ClaimItem {
  const id = headers?.[ID_HEADER]
  if (!Buffer.isBuffer(id)) throw new TypeError('a message without an ID')
  return { key: digest(id), digest: digest(value ?? '') }
}

function digest(bytes: Buffer | string): string {
  return hash('sha256', bytes, 'base64url').slice(0, 22)
}

/** Removes the keys of the job afterwards. */
async function onRedis(job: Job, run: (redis: Redis) => Promise<Measurement>): Promise<Measurement> {
  const redis = new Redis(serverOf(job, 'redis'))
  const measurement = await run(redis)
  for await (const keys of redis.scanStream({ match: `${job.name}:*`, count: 2_000 })) {
    if ((keys as string[]).length > 0) await redis.unlink(...(keys as string[]))
  }
  return measurement
}
