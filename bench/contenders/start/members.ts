import { defineConsumer } from 'consume-once'
import { runKafka } from 'consume-once/kafkajs'
import { redisLease } from 'consume-once/redis'
import { Redis } from 'ioredis'
import { serverOf } from '../../suite.ts'
import { ID_HEADER } from '../../tally.ts'
import { clientOf } from '../clients/kafka-client.ts'
import { startConsumer } from '../clients/kafkajs.ts'
import { idOf } from '../clients/kafka-messages.ts'
import { LEASE_MS, RETENTION_MS } from '../clients/redis-times.ts'
import { GROUP, type Member } from './pauses.ts'

/** kafkajs and a loop over each batch, with SET NX before each message. Keys expire by themselves. */
export const eachBatchMember: Member = async (job, handled) => {
  const redis = new Redis(serverOf(job, 'redis'))
  const consumer = await startConsumer(job, GROUP, () => ({
    partitionsConsumedConcurrently: 8,
    eachBatch: async (payload) => {
      const { messages, partition } = payload.batch
      for (const message of messages) {
        if (!payload.isRunning() || payload.isStale()) return
        const key = `${job.name}:${idOf(message)}`
        if ((await redis.set(key, 'processing', 'PX', LEASE_MS, 'NX')) === 'OK') {
          handled(partition)
          await redis.set(key, 'done', 'PX', RETENTION_MS)
        }
        payload.resolveOffset(message.offset)
        await payload.heartbeat()
      }
    },
  }))
  return () => consumer.disconnect()
}

/** The library with leases in Redis. Its keys expire by themselves too. */
export const leaseMember: Member = async (job, handled) => {
  const consumer = defineConsumer({
    name: 'bench',
    id: ({ headers }) => String(headers[ID_HEADER]),
    decode: (bytes) => bytes,
    store: redisLease({ redis: new Redis(serverOf(job, 'redis')), prefix: job.name }),
    retentionMs: RETENTION_MS,
    handle: async ({ message }) => handled(Number(message.position.split('@')[0])),
  })
  const running = await runKafka(clientOf(job), consumer, {
    topics: [job.place],
    group: job.name,
    consumerConfig: GROUP,
  })
  return () => running.stop()
}
