// One process of a consumer group, as a user would write it.
import { Kafka, logLevel } from 'kafkajs'
import { messageId } from 'consume-once'
import { runKafka } from 'consume-once/kafkajs'
import { readSettings, work } from '../worker-program.ts'
import { withPlantedCommits } from './planted.ts'
import { LEASE_MS, SESSION_MS, type KafkaWorkerSettings } from './settings.ts'

const { brokers, topic, groupId, ...settings } = readSettings() as KafkaWorkerSettings
const client = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING })
const tuning = {
  id: messageId.header('message-id'),
  leaseMs: LEASE_MS,
  // A message that happens to be there at many kills is no poison.
  maxAttempts: 50,
  backoff: { initialMs: 50, maxMs: 1_000 },
}

await work(settings, tuning, (consumer) =>
  runKafka(withPlantedCommits(client, settings.planted), consumer, {
    topics: [topic],
    group: groupId,
    commitEveryMs: 200,
    consumer: {
      sessionTimeout: SESSION_MS,
      rebalanceTimeout: SESSION_MS,
      heartbeatInterval: 500,
      // A fetch in long poll at one broker while another rejoins is how messages are jumped over.
      maxWaitTimeInMs: 1_500,
    },
  }),
)
