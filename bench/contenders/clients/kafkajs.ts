import type { Consumer, ConsumerConfig, ConsumerRunConfig, EachBatchHandler, KafkaMessage } from 'kafkajs'
import type { Job, Measurement } from '../../suite.ts'
import { ID_HEADER, Tally } from '../../tally.ts'
import type { Handle } from '../handlers.ts'
import { allCommitted, clientOf } from './kafka-client.ts'

type HandleBatch = (messages: readonly KafkaMessage[]) => Promise<void>

/** kafkajs as it comes, without any deduplication: it commits what it has handled. */
export function eachMessage(
  handle: Handle,
  partitionsConsumedConcurrently: number = 1,
): (job: Job) => Promise<Measurement> {
  return async (job) => {
    const tally = new Tally(job, 'each-delivery')
    return consumeAll(job, tally, () => ({
      partitionsConsumedConcurrently,
      eachMessage: async ({ message }) => {
        tally.arrived()
        tally.started(message.headers?.[ID_HEADER])
        await handle()
        tally.ended(1)
      },
    }))
  }
}

export function eachBatch(handle: Handle): (job: Job) => Promise<Measurement> {
  return async (job) => {
    const tally = new Tally(job, 'each-delivery')
    return consumeAll(job, tally, () => ({
      eachBatch: async ({ batch }) => {
        tally.arrived()
        for (const { headers } of batch.messages) {
          tally.started(headers?.[ID_HEADER])
          await handle()
        }
        tally.ended(batch.messages.length)
      },
    }))
  }
}

/** A loop by hand: each fetched batch in slices, eight partitions at once. `handleBatch` counts in the tally. */
export function consumeInBatches(
  job: Job,
  tally: Tally,
  batchSize: number,
  handleBatch: HandleBatch,
): Promise<Measurement> {
  const inSlices = slices(batchSize, handleBatch)
  return consumeAll(job, tally, () => ({
    ...inSlices,
    eachBatch: (payload) => {
      tally.arrived()
      return inSlices.eachBatch(payload)
    },
  }))
}

export function slices(
  batchSize: number,
  handleBatch: HandleBatch,
): ConsumerRunConfig & { eachBatch: EachBatchHandler } {
  return {
    partitionsConsumedConcurrently: 8,
    eachBatch: async (payload) => {
      const { messages } = payload.batch
      for (let at = 0; at < messages.length; at += batchSize) {
        const slice = messages.slice(at, at + batchSize)
        await handleBatch(slice)
        payload.resolveOffset(slice.at(-1)?.offset ?? '')
        await payload.heartbeat()
      }
    },
  }
}

/** Runs a consumer of kafkajs over the whole topic, until all is handled and committed. */
export async function consumeAll(
  job: Job,
  tally: Tally,
  configOf: (consumer: Consumer) => ConsumerRunConfig,
): Promise<Measurement> {
  await startConsumer(job, {}, configOf)
  await tally.complete
  await allCommitted(job)
  return tally.measurement()
}

export async function startConsumer(
  job: Job,
  config: Partial<ConsumerConfig>,
  configOf: (consumer: Consumer) => ConsumerRunConfig,
): Promise<Consumer> {
  const consumer = clientOf(job).consumer({ groupId: job.name, ...config })
  consumer.on('consumer.crash', ({ payload }) => {
    // It comes back by itself after what passes, such as a coordinator of the group that has just begun.
    if (!payload.restart) throw payload.error
  })
  await consumer.connect()
  await consumer.subscribe({ topics: [job.place], fromBeginning: true })
  await consumer.run(configOf(consumer))
  return consumer
}
