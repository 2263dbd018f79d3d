import { runKafka } from 'consume-once/kafkajs'
import type { Job } from '../../suite.ts'
import { ID_HEADER, indexOf } from '../../tally.ts'
import type { CrashBroker } from './crash.ts'
import { clientOf, committedOffsets } from '../clients/kafka-client.ts'
import { distinct, idOf } from '../clients/kafka-messages.ts'
import { slices, startConsumer } from '../clients/kafkajs.ts'

/** The shortest session timeout that a broker accepts by default: the partitions of a killed worker stay unassigned this long. */
const CONSUMER = { sessionTimeout: 6_000, heartbeatInterval: 1_000 }

const deadLetterTopic = ({ place, name }: Job): string => `${place}.${name}`

/** Committed messages are handled, by hand or by the library, so none is claimed and unfinished then. */
const isCommitted = async (job: Job): Promise<boolean> => {
  const offsets = await committedOffsets(job)
  return [...offsets.values()].reduce((sum, offset) => sum + offset, 0) === job.messages
}

export const crashOnKafka: CrashBroker = {
  isTaken: isCommitted,
  isSettled: isCommitted,
  quietMs: 0,
  idOf: ({ headers }) => headers[ID_HEADER],
  async run(job, consumer) {
    const running = await runKafka(clientOf(job), consumer, {
      topics: [job.place],
      group: job.name,
      deadLetter: { topic: deadLetterTopic(job) },
      consumerConfig: CONSUMER,
    })
    return () => running.stop()
  },
  async each(job, handleOne) {
    const consumer = await startConsumer(job, CONSUMER, () => ({
      partitionsConsumedConcurrently: 8,
      eachMessage: ({ message }) => handleOne(idOf(message)),
    }))
    return () => consumer.disconnect()
  },
  async inBatches(job, batchSize, handleBatch) {
    const consumer = await startConsumer(job, CONSUMER, () =>
      slices(batchSize, (messages) => handleBatch(distinct(messages).map(idOf))),
    )
    return () => consumer.disconnect()
  },
  async deadLetters(job) {
    const kafka = clientOf(job)
    const admin = kafka.admin()
    await admin.connect()
    const topic = deadLetterTopic(job)
    const offsets = (await admin.listTopics()).includes(topic) ? await admin.fetchTopicOffsets(topic) : []
    await admin.disconnect()
    let left = offsets.reduce((sum, { high }) => sum + Number(high), 0)
    const ids = new Set<number>()
    if (left === 0) return ids
    const consumer = kafka.consumer({ groupId: `${job.name}-dead-letters` })
    await consumer.connect()
    await consumer.subscribe({ topics: [topic], fromBeginning: true })
    await new Promise<void>((resolve, reject) => {
      const eachMessage = async ({ message }: { message: Parameters<typeof idOf>[0] }): Promise<void> => {
        ids.add(indexOf(message.headers?.[ID_HEADER]))
        if (--left === 0) resolve()
      }
      consumer.run({ eachMessage }).catch(reject)
    })
    return ids
  },
}
