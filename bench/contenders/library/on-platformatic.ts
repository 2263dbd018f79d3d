import * as platformatic from '@platformatic/kafka'
import { platformaticKafka, runKafka } from 'consume-once/platformatic-kafka'
import { sourceOn } from '../../../adapters/kafka/run.ts'
import { platformaticClient } from '../../../adapters/platformatic-kafka/client.ts'
import type { Broker } from './broker.ts'
import { allCommitted } from '../clients/kafka-client.ts'
import { optionsOf } from '../clients/platformatic.ts'
import { ID_HEADER } from '../../tally.ts'

export const onPlatformatic: Broker = {
  idOf: ({ headers }) => headers[ID_HEADER],
  source: (job) =>
    sourceOn(platformaticClient(platformatic, optionsOf(job)), { topics: [job.place], group: job.name }).source,
  async run(job, consumer) {
    const kafka = platformaticKafka(platformatic, optionsOf(job))
    const running = await runKafka(kafka, consumer, { topics: [job.place], group: job.name })
    return () => running.stop()
  },
  untilSettled: (job) => allCommitted(job),
}
