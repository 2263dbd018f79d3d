// A consumer with a drop-in function in a process of its own, which kills itself between the mark and the commit: started by
// kafkajs-drop-in-crash.test.ts.

import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { redisLease } from '../../adapters/redis/ioredis/index.ts'
import { eachBatch, eachMessage } from '../../adapters/kafkajs/index.ts'
import { defineConsumer } from '../../src/index.ts'
import type { LeaseStore } from '../../src/spi.ts'
import { withCalls } from '../../test/kit/store-with.ts'
import { Kafka, logLevel } from 'kafkajs'
import type { Payload } from '../../test/kafka/own-consumer.ts'

export interface WorkerConfig {
  readonly brokers: string[]
  readonly topic: string
  readonly groupId: string
  readonly redis: string
  readonly prefix: string
  readonly which: 'eachMessage' | 'eachBatch'
}

const config = JSON.parse(process.argv[2] ?? '') as WorkerConfig
const { brokers, topic, groupId, prefix, which } = config
const redis = new Redis(config.redis)

function dyingAfterItsMark(store: LeaseStore): LeaseStore {
  return withCalls(store, {
    mark: async (claims) => {
      await store.mark(claims)
      process.kill(process.pid, 'SIGKILL')
      return sleep<never>(60_000)
    },
  })
}

const sms = defineConsumer<Payload>({
  name: 'sms',
  id: ({ payload }) => payload.id,
  store: dyingAfterItsMark(redisLease({ redis, prefix })),
  handle: ({ payload }) => redis.rpush(`${prefix}:effects`, payload.id),
})
const kafka = new Kafka({ brokers, logLevel: logLevel.NOTHING, retry: { initialRetryTime: 50 } })
const consumer = kafka.consumer({ groupId, sessionTimeout: 1_500, heartbeatInterval: 150, maxWaitTimeInMs: 100 })
await consumer.connect()
await consumer.subscribe({ topics: [topic], fromBeginning: true })
await consumer.run(
  which === 'eachMessage'
    ? { eachMessage: eachMessage(sms, { group: groupId }) }
    : { eachBatch: eachBatch(sms, { group: groupId }), eachBatchAutoResolve: false },
)
