import type { Producer } from '../kafka/client.ts'
import { partitionFor } from '../kafka/copies/partition-for.ts'
import { NumberedBatches, type Numbers } from './numbered-batches.ts'
import type { BaseOptionsLike, PlatformaticLike } from './platformatic-like.ts'
import { BrokerAnswer } from './wire/answers.ts'
import { Wire } from './wire/wire.ts'

type Sent = Parameters<Producer['send']>[0]['messages']

interface ProduceAnswer {
  readonly responses: readonly {
    readonly partitionResponses: readonly { readonly index: number; readonly errorCode: number }[]
  }[]
}

/** As the brokers answer a producer: they wait for the replicas. */
const WITHIN_MS = 30_000
const NO_LEADER = -1

/** Sends to the leader of one partition, and tells what it answered. */
export async function openProducer(lib: PlatformaticLike, options: BaseOptionsLike): Promise<Producer> {
  const wire = new Wire(lib, options)
  const numbered = new NumberedBatches(wire)
  try {
    await wire.metadata([])
  } catch (error) {
    await wire.close()
    throw error
  }
  return {
    disconnect: () => wire.close(),
    recognises: true,
    send: async ({ topic, acks, messages }, batch) => {
      const { brokers, topics } = await wire.metadata([topic])
      const found = topics.get(topic)
      const [first] = messages
      if (found === undefined || first === undefined) throw new BrokerAnswer('UNKNOWN_TOPIC_OR_PARTITION', true)
      const partition = partitionFor({
        partitionMetadata: found.partitions.map((one) => ({ partitionId: one.partition, leader: one.leader })),
        message: first,
      })
      const leader = brokers.get(found.partitions[partition]?.leader ?? NO_LEADER)
      if (leader === undefined) throw new BrokerAnswer('LEADER_NOT_AVAILABLE', true)
      const produce = async (numbers?: Numbers): Promise<ProduceAnswer> => {
        const records = recordsOf(topic, partition, messages)
        return wire.request('Produce', leader, [acks, WITHIN_MS, records, numbers ?? {}], 2 * WITHIN_MS)
      }
      const { responses } =
        batch === undefined
          ? await produce()
          : await numbered.send(`${topic}/${partition}`, { batch, count: messages.length }, produce)
      return responses.flatMap(({ partitionResponses }) =>
        partitionResponses.map(({ index, errorCode }) => ({ topicName: topic, partition: index, errorCode })),
      )
    },
  }
}

/** Headers as pairs, in a map whose keys are all different, so that one that comes again stays. */
function recordsOf(topic: string, partition: number, messages: Sent): unknown[] {
  return messages.map(({ key, value, headers }) => ({
    topic,
    partition,
    key,
    value,
    headers: new Map(
      Object.entries(headers).flatMap(([name, given]) =>
        [given].flat().map((one) => [Buffer.from(name), typeof one === 'string' ? Buffer.from(one) : one] as const),
      ),
    ),
  }))
}
