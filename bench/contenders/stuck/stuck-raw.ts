import type { Job, Measurement } from '../../suite.ts'
import { ID_HEADER } from '../../tally.ts'
import { clientOf } from '../clients/kafka-client.ts'
import { Flow } from './stuck-flow.ts'

/** kafkajs as it comes, which waits for the slowest of what it has fetched. */
export function eachMessageBesideStuck(partitionsConsumedConcurrently: number): (job: Job) => Promise<Measurement> {
  return async (job) => {
    const flow = new Flow(job, true)
    const consumer = clientOf(job).consumer({ groupId: job.name })
    return flow.watch(async () => {
      await consumer.connect()
      await consumer.subscribe({ topics: [job.place], fromBeginning: true })
      await consumer.run({
        partitionsConsumedConcurrently,
        eachMessage: ({ message }) => flow.handle(message.headers?.[ID_HEADER]),
      })
    })
  }
}
