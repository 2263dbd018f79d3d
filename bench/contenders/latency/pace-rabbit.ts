import { connect } from 'amqplib'
import { eventually } from '../../eventually.ts'
import { payloadOf } from '../../places/payload.ts'
import { serverOf } from '../../suite.ts'
import type { Line } from './line.ts'

/** A quorum queue. */
export const lineOnRabbit: Line = {
  async create(job) {
    const connection = await connect(serverOf(job, 'rabbitmq'))
    const channel = await connection.createChannel()
    await channel.assertQueue(job.place, { durable: true, arguments: { 'x-queue-type': 'quorum' } })
    await connection.close()
  },
  async openProducer(job) {
    const connection = await connect(serverOf(job, 'rabbitmq'), { noDelay: true })
    const channel = await connection.createChannel()
    await eventually('a consumer', async () => (await channel.checkQueue(job.place)).consumerCount > 0)
    return (ids) => {
      for (const id of ids) {
        channel.sendToQueue(job.place, Buffer.from(payloadOf(id)), { persistent: true, messageId: `${id}` })
      }
    }
  },
  async remove(job) {
    const connection = await connect(serverOf(job, 'rabbitmq'))
    const channel = await connection.createChannel()
    await channel.deleteQueue(job.place)
    await channel.deleteQueue(`${job.place}.dead-letter`)
    await connection.close()
  },
}
