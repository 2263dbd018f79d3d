import { defineConsumer, messageId } from 'consume-once'
import { runKafka, type KafkaOptions } from 'consume-once/kafkajs'
import type { Job, Measurement } from '../../suite.ts'
import { ID_HEADER } from '../../tally.ts'
import { forgetfulStore } from './forgetful-store.ts'
import { clientOf } from '../clients/kafka-client.ts'
import { Flow, OTHERS } from './stuck-flow.ts'

const HOUR_MS = 3_600_000

/** The library, where the handler of message 0 never ends: all other partitions must be handled to their end. */
export function besideStuck({
  order,
  isStuck,
}: {
  readonly order: NonNullable<KafkaOptions['order']>
  readonly isStuck: boolean
}): (job: Job) => Promise<Measurement> {
  return async (job) => {
    const flow = new Flow(job, isStuck)
    const consumer = defineConsumer({
      name: 'bench',
      id: messageId.header(ID_HEADER),
      decode: (bytes) => bytes,
      store: forgetfulStore,
      handlerTimeoutMs: HOUR_MS,
      handle: ({ message }) => flow.handle(message.headers[ID_HEADER]),
    })
    const measured = await flow.watch(() =>
      runKafka(clientOf(job), consumer, { topics: [job.place], group: job.name, order }),
    )
    if (measured.figures?.[OTHERS] !== 100) throw new Error(`it held up others: ${JSON.stringify(measured)}`)
    return measured
  }
}
