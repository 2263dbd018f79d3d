import { connect, type Channel } from 'amqplib'
import { runRabbit } from 'consume-once/amqplib'
import { eventually } from '../../eventually.ts'
import type { QueuePlan } from '../../places/plans.ts'
import { serverOf, type Job } from '../../suite.ts'
import { indexOf } from '../../tally.ts'
import { startConsumer } from '../clients/amqplib.ts'
import type { CrashBroker } from './crash.ts'

/** Longer than the leases of those that were killed. */
const QUIET_MS = 4_000

const deadLetterQueue = ({ place }: Job): string => `${place}.dead-letter`

export function crashOnRabbit(prefetch: number, queueType: QueuePlan['queueType']): CrashBroker {
  return {
    isTaken: (job) => onChannel(job, async (channel) => (await channel.checkQueue(job.place)).messageCount === 0),
    isSettled: (job) =>
      onChannel(job, async (channel) => {
        const hasLeft = async (): Promise<boolean> => (await channel.checkQueue(job.place)).consumerCount === 0
        await eventually('no consumer is left', hasLeft)
        return (await channel.checkQueue(job.place)).messageCount === 0
      }),
    quietMs: QUIET_MS,
    idOf: ({ messageId }) => messageId,
    async run(job, consumer) {
      const options = { queue: job.place, prefetch, queueType, deadLetter: { queue: deadLetterQueue(job) } }
      const running = await runRabbit(serverOf(job, 'rabbitmq'), consumer, options)
      return () => running.stop()
    },
    async each(job, handleOne) {
      const { stop } = await startConsumer(job, prefetch, {
        handleOne: ({ properties }) => handleOne(String(properties.messageId)),
        acked: () => {},
      })
      return stop
    },
    deadLetters: (job) =>
      onChannel(job, async (channel) => {
        await channel.assertQueue(deadLetterQueue(job), { durable: true, arguments: { 'x-queue-type': queueType } })
        const ids = new Set<number>()
        for (;;) {
          const deadLetter = await channel.get(deadLetterQueue(job), { noAck: true })
          if (deadLetter === false) return ids
          ids.add(indexOf(deadLetter.properties.messageId))
        }
      }),
  }
}

async function onChannel<T>(job: Job, ask: (channel: Channel) => Promise<T>): Promise<T> {
  const connection = await connect(serverOf(job, 'rabbitmq'))
  try {
    return await ask(await connection.createChannel())
  } finally {
    await connection.close()
  }
}
