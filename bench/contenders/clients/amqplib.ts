import { EventEmitter, once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect, type ConsumeMessage } from 'amqplib'
import { eventually } from '../../eventually.ts'
import { serverOf, type Job, type Measurement } from '../../suite.ts'
import { Tally } from '../../tally.ts'
import type { Handle } from '../handlers.ts'
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
  const { failed, stop } = await startConsumer(job, prefetch, {
    handleOne: (message) => {
      tally.arrived()
      return handleOne(message)
    },
    acked: () => tally.ended(1),
  })
  await Promise.race([tally.complete, failed])
  await stop()
  await expectEmpty(job)
  return tally.measurement()
}

interface Handling {
  readonly handleOne: (message: ConsumeMessage) => Promise<void>
  readonly acked: () => void
}

interface RunningConsumer {
  readonly failed: Promise<never>
  /** Handles and acks what it has, and nothing more. */
  readonly stop: () => Promise<void>
}

export async function startConsumer(
  job: Job,
  prefetch: number,
  { handleOne, acked }: Handling,
): Promise<RunningConsumer> {
  const connection = await connect(serverOf(job, 'rabbitmq'), { noDelay: true })
  const channel = await connection.createChannel()
  await channel.prefetch(prefetch)
  const failure = new EventEmitter()
  const failed = once(failure, 'failed').then(([error]) => Promise.reject(error))
  let taken = 0
  const take = async (message: ConsumeMessage): Promise<void> => {
    taken++
    await handleOne(message)
    channel.ack(message)
    taken--
    acked()
  }
  const { consumerTag } = await channel.consume(job.place, (message) => {
    if (message === null) failure.emit('failed', new Error('the consumer was cancelled'))
    else take(message).catch((error: unknown) => failure.emit('failed', error))
  })
  const stop = async (): Promise<void> => {
    await channel.cancel(consumerTag)
    await eventually('all that was taken is acked', async () => taken === 0)
    await sleep(HEEDED_AFTER_MS)
    await channel.close()
    await connection.close()
  }
  return { failed, stop }
}
