import { defineConsumer } from 'consume-once'
import { redisLease } from 'consume-once/redis'
import type { Redis } from 'ioredis'
import type { KafkaMessage } from 'kafkajs'
import type { Job, Measurement } from '../../suite.ts'
import { ID_HEADER } from '../../tally.ts'
import type { LoadBroker } from '../library/broker.ts'
import type { Settings } from '../library/consume-once.ts'
import { consumeInBatches } from '../clients/kafkajs.ts'
import { onRedis } from '../clients/redis-client.ts'
import { RETENTION_MS } from '../clients/redis-times.ts'
import { replayed, replayedAgain, secondTime } from './replay.ts'
import { inBatches } from '../store/store-items.ts'

type Run = (job: Job) => Promise<Measurement>

export function replayOnRedis(load: LoadBroker, { concurrency }: Pick<Required<Settings>, 'concurrency'>): Run {
  return (job) =>
    onRedis(job, (redis) => replayed(load, job, consumerOn(redis, job, { concurrency, retentionMs: RETENTION_MS })))
}

/** Records must outlive the last pass. */
const HOUR_MS = 3_600_000

export function replayAgainOnRedis(load: LoadBroker, times: number): Run {
  return (job) =>
    onRedis(job, (redis) => replayedAgain(load, job, times, consumerOn(redis, job, { retentionMs: HOUR_MS })))
}

function consumerOn(redis: Redis, { name }: Job, options: Settings): Parameters<typeof replayed>[2] {
  return (settings, started) =>
    defineConsumer({
      ...options,
      ...settings,
      store: redisLease({ redis, prefix: name }),
      handle: async ({ message }) => started(message.headers[ID_HEADER]),
    })
}

/** Upper limit for code that asks Redis about each message: one MGET for each batch of kafkajs, and nothing else. */
export function mgetFromKafka(batchSize: number): Run {
  return (job) =>
    onRedis(job, async (redis) => {
      const ids = Array.from({ length: job.ids }, (_, id) => `${id}`)
      for (const batch of inBatches(ids, 1_000)) {
        const pipeline = redis.pipeline()
        for (const id of batch) pipeline.set(`${job.name}:${id}`, 'done', 'PX', RETENTION_MS)
        await pipeline.exec()
      }
      const keyOf = ({ headers }: KafkaMessage): string => `${job.name}:${String(headers?.[ID_HEADER])}`
      return secondTime(job, (group, tally) => {
        for (const id of ids) tally.started(id)
        return consumeInBatches(group, tally, batchSize, async (batch) => {
          const values = await redis.mget(batch.map(keyOf))
          if (values.some((value) => value !== 'done')) throw new Error('expected a record under each key')
          tally.ended(batch.length)
        })
      })
    })
}
