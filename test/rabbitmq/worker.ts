// A consumer in a process of its own, so that it can be killed and frozen: started by amqplib-worker-process.ts, which it
// tells everything. What a handler does is in its message.

import { rabbitSource } from '../../adapters/amqplib/index.ts'
import type { WorkerConfig } from './worker-process.ts'
import { work, workerConfig } from '../kit/worker-consumer.ts'

const { url, options } = workerConfig() as WorkerConfig
await work(...options.map((each) => rabbitSource(url, each)))
