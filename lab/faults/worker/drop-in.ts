import { connect } from 'amqplib'
import { onMessage } from '../../../adapters/amqplib/index.ts'
import { eachBatch } from '../../../adapters/kafkajs/index.ts'
import type { Consumer, Running } from '../../../src/index.ts'
import { IN_GROUP, kafkaOf } from './kafka.ts'
import type { KafkaPlace, RabbitPlace } from './settings.ts'

export type Stoppable = Pick<Running, 'stop'>

const PREFETCH = 50

/** A kafkajs consumer of the user's own. */
export async function dropIntoKafka(place: KafkaPlace, consumer: Consumer): Promise<Stoppable> {
  const { topics, groupId } = place
  const kafka = kafkaOf(place)
  const handle = eachBatch(consumer, { group: groupId, kafka, heartbeatEveryMs: 200 })
  const own = kafka.consumer({ ...IN_GROUP, groupId })
  await own.connect()
  await own.subscribe({ topics: [...topics], fromBeginning: true })
  await own.run({ eachBatch: handle, eachBatchAutoResolve: false })
  return {
    async stop(options) {
      await Promise.all([own.stop(), handle.stop(options)])
      await own.disconnect()
    },
  }
}

/** A channel of the user's own. */
export async function dropIntoRabbit({ url, queue }: RabbitPlace, consumer: Consumer): Promise<Stoppable> {
  const connection = await connect(url)
  const channel = await connection.createChannel()
  await channel.assertQueue(queue, { durable: true, arguments: { 'x-queue-type': 'quorum' } })
  await channel.prefetch(PREFETCH)
  const handle = onMessage(channel, consumer, { queue })
  const { consumerTag } = await channel.consume(queue, handle, { noAck: false })
  return {
    async stop(options) {
      await channel.cancel(consumerTag)
      await handle.stop(options)
      await connection.close()
    },
  }
}
