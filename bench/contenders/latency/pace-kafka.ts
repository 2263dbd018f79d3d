import { eventually } from '../../eventually.ts'
import { payloadOf } from '../../places/payload.ts'
import { EIGHT_PARTITIONS } from '../../places/plans.ts'
import { ID_HEADER } from '../../tally.ts'
import { clientOf } from '../clients/kafka-client.ts'
import type { Line } from './line.ts'

const { partitions, partitionOf, keys } = EIGHT_PARTITIONS

export const lineOnKafka: Line = {
  async create(job) {
    const admin = clientOf(job).admin()
    await admin.connect()
    await admin.createTopics({ waitForLeaders: false, topics: [{ topic: job.place, numPartitions: partitions }] })
    await eventually('the new topic is known', async () => (await admin.listTopics()).includes(job.place))
    await admin.disconnect()
  },
  async openProducer(job) {
    const kafka = clientOf(job)
    const admin = kafka.admin()
    await admin.connect()
    await eventually('a group that consumes', async () => {
      const { groups } = await admin.describeGroups([job.name])
      return groups[0]?.state === 'Stable'
    })
    await admin.disconnect()
    const producer = kafka.producer()
    await producer.connect()
    return (ids) => {
      const messages = ids.map((id) => ({
        partition: partitionOf(id),
        key: `key-${id % keys}`,
        value: payloadOf(id),
        headers: { [ID_HEADER]: `${id}` },
      }))
      void producer.send({ topic: job.place, acks: 1, messages })
    }
  },
  async remove(job) {
    const admin = clientOf(job).admin()
    await admin.connect()
    const all = await admin.listTopics()
    const topics = all.filter((name) => name === job.place || name.startsWith(`${job.place}.`))
    await admin.deleteTopics({ topics })
    await admin.disconnect()
  },
}
