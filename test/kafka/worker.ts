// A consumer in a process of its own, so that it can be killed and frozen: started by kafkajs-worker-process.ts, which it
// tells everything. What a handler does is in its message.

import { Kafka, logLevel } from 'kafkajs'
import { kafkaSource } from '../../adapters/kafkajs/index.ts'
import { FAST } from './kit.ts'
import type { WorkerConfig } from './worker-process.ts'
import { work, workerConfig } from '../kit/worker-consumer.ts'

const config = workerConfig() as WorkerConfig
const kafka = new Kafka({ brokers: config.brokers, logLevel: logLevel.NOTHING, retry: { initialRetryTime: 50 } })
await work(
  kafkaSource(kafka, {
    ...FAST,
    topics: config.topics,
    group: config.groupId,
    commitEveryMs: config.commitEveryMs ?? 50,
    consumer: { ...FAST.consumer, sessionTimeout: config.sessionTimeoutMs, rebalanceTimeout: config.sessionTimeoutMs },
  }),
)
