import { setTimeout as sleep } from 'node:timers/promises'
import { connect, type ConsumeMessage } from 'amqplib'
import { serverOf, type Job, type Measurement } from '../suite.ts'
import { Tally } from '../tally.ts'
import type { Handle } from './handlers.ts'
import { expectEmpty } from './rabbit-client.ts'

/** A quorum queue heeds acks only some time after they were sent. */
const HEEDED_AFTER_MS = 500

/** amqplib as it comes, without any deduplication: handles each message and acks it. */
export function ackEach(handle: Handle, prefetch: number): (job: Job) => Promise<Measurement> {
  return (job) => {
    const tally = new Tally(job, 'each-delivery')
    return consumeAll(job, tally, prefetch, async (message) => {
      tally.started(message.properties.messageId)
      await handle()
    })
  }
}

/** Runs a consumer over the whole queue; each message is acked when `handleOne` resolves. */
export async function consumeAll(
  job: Job,
  tally: Tally,
  prefetch: number,
  handleOne: (message: ConsumeMessage) => Promise<void>,
): Promise<Measurement> {
  const connection = await connect(serverOf(job, 'rabbitmq'), { noDelay: true })
  const channel = await connection.createChannel()
  await channel.prefetch(prefetch)
  const failed = new Promise<never>((_, reject) => {
    const take = async (message: ConsumeMessage): Promise<void> => {
      tally.arrived()
      await handleOne(message)
      channel.ack(message)
      tally.ended(1)
    }
    void channel.consume(job.place, (message) => {
      if (message === null) reject(new Error('the consumer was cancelled'))
      else take(message).catch(reject)
    })
  })
  await Promise.race([tally.complete, failed])
  await sleep(HEEDED_AFTER_MS)
  await channel.close()
  await connection.close()
  await expectEmpty(job)
  return tally.measurement()
}
