import { ConfigError, isTopicName, type ReplayPlaces } from '../../../src/internal.ts'
import { AdminClient } from '../admin-client.ts'
import { ConfirmedProducer } from '../copies/confirmed-producer.ts'
import { existingOf } from '../copies/topics.ts'
import type { ResolvedKafka } from '../options/resolve.ts'
import type { Admin, KafkaClient } from '../client.ts'
import { answered, type LogPlace, type ReplayAdmin } from './log-place.ts'
import { LogPublisher } from './publisher.ts'
import { LogReader } from './reader.ts'

/** The topics of the cluster, for replays. Nothing is opened in advance. */
export function kafkaPlaces(client: KafkaClient, options: ResolvedKafka): ReplayPlaces {
  const adminClient: ReplayAdmin = new AdminClient(client)
  return {
    system: 'kafka',
    deadLetters: options.topology.places.filter(({ kind }) => kind === 'dead-letter').map(({ topic }) => topic),
    open: async (name) => {
      const place = placeNamed(name)
      await answered(place, () => adminClient.askAgain((admin) => checkPlace(admin, place)))
      return new LogReader({ client, adminClient, options, place })
    },
    publisher: async () => new LogPublisher({ producer: new ConfirmedProducer(client), adminClient }),
  }
}

function placeNamed(name: string): LogPlace {
  const at = name.lastIndexOf('@')
  const [topic, partition] = at < 0 ? [name, undefined] : [name.slice(0, at), name.slice(at + 1)]
  if (!isTopicName(topic) || (partition !== undefined && !/^\d{1,9}$/.test(partition))) {
    const problem = `place: expected the name of a topic, or topic@partition, got ${JSON.stringify(name)}`
    throw new ConfigError([problem])
  }
  return { topic, partition: partition === undefined ? undefined : Number(partition) }
}

/** The topic is looked up in a list first: to ask for a missing topic may create it. */
async function checkPlace(admin: Admin, { topic, partition }: LogPlace): Promise<void> {
  if (!(await existingOf(admin, [topic])).has(topic)) {
    throw new ConfigError([`place: topic ${topic} does not exist, or this client may not see it; correct the name`])
  }
  if (partition === undefined) return
  const count = (await admin.fetchTopicOffsets(topic)).length
  if (partition < count) return
  throw new ConfigError([`place: topic ${topic} has partitions 0 to ${count - 1}, got partition ${partition}`])
}
