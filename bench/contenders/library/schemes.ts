import { defineConsumer, type Message } from 'consume-once'
import { redisLease } from 'consume-once/redis'
import type { Job, Measurement } from '../../suite.ts'
import { Tally } from '../../tally.ts'
import { onRedis } from '../clients/redis-client.ts'
import { RETENTION_MS } from '../clients/redis-times.ts'
import type { Handle } from '../handlers.ts'
import { onKafka } from './brokers.ts'
import { commonSettings, consumeAllOnce } from './consume-once.ts'

type Run = (job: Job) => Promise<Measurement>

const CONCURRENCY = 256

/** Kafka and leases in Redis; each message has so many IDs, all of them its own. */
export function identifiedBy(identities: 1 | 2): Run {
  return (job) =>
    onRedis(job, async (redis) => {
      const broker = await onKafka()
      const tally = new Tally(job)
      const idOf = (message: Pick<Message, 'headers' | 'messageId'>): string => {
        tally.arrived()
        return String(broker.idOf(message))
      }
      const consumer = defineConsumer({
        ...commonSettings(broker, tally),
        id: identities === 1 ? idOf : [idOf, (message) => `order ${String(broker.idOf(message))}`],
        concurrency: CONCURRENCY,
        retentionMs: RETENTION_MS,
        store: redisLease({ redis, prefix: job.name }),
        handle: async ({ message }) => tally.started(broker.idOf(message)),
      })
      return consumeAllOnce(broker, job, tally, consumer)
    })
}

/** Every message runs, and its verdict is recorded in Redis beside it. */
export function observing(handle: Handle): Run {
  return (job) =>
    onRedis(job, async (redis) => {
      const broker = await onKafka()
      const tally = new Tally(job, 'each-delivery')
      const consumer = defineConsumer({
        ...commonSettings(broker, tally),
        mode: 'observe',
        concurrency: CONCURRENCY,
        retentionMs: RETENTION_MS,
        store: redisLease({ redis, prefix: job.name }),
        handle: async ({ message }) => {
          tally.started(broker.idOf(message))
          await handle()
        },
      })
      return consumeAllOnce(broker, job, tally, consumer)
    })
}
