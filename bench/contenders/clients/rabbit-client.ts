import { connect } from 'amqplib'
import { eventually } from '../../eventually.ts'
import { serverOf, type Job } from '../../suite.ts'

/** Messages in the queue after the consumers have left, unacked ones included. */
export async function expectEmpty(job: Job): Promise<void> {
  const connection = await connect(serverOf(job, 'rabbitmq'))
  const channel = await connection.createChannel()
  await eventually('no consumer is left', async () => (await channel.checkQueue(job.place)).consumerCount === 0)
  const { messageCount } = await channel.checkQueue(job.place)
  await connection.close()
  if (messageCount > 0) throw new Error(`${messageCount} messages are left in the queue`)
}
