import { runKafka } from 'consume-once/kafkajs'
import { kafkaSource } from '../../../adapters/kafkajs/client.ts'
import { ID_HEADER } from '../../tally.ts'
import type { Broker } from './broker.ts'
import { allCommitted, clientOf } from '../clients/kafka-client.ts'

export const onKafka: Broker = {
  idOf: ({ headers }) => headers[ID_HEADER],
  source: (job) => kafkaSource(clientOf(job), { topics: [job.place], group: job.name }).source,
  async run(job, consumer) {
    const running = await runKafka(clientOf(job), consumer, { topics: [job.place], group: job.name })
    return () => running.stop()
  },
  untilSettled: (job) => allCommitted(job),
}
