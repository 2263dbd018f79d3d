import type { CheckedConsumer, CheckFinding } from '../../../src/internal.ts'
import { AdminClient } from '../admin-client.ts'
import type { ResolvedKafka } from '../options/resolve.ts'
import type { CheckupAdminLike, CheckupKafkaLike } from '../kafkajs-like.ts'
import { brokerSettings, groupState, replicasOf, topicSettings } from './asked.ts'
import { findingOfCopies } from './copy-findings.ts'
import { broken, weaker } from './findings.ts'
import { findingOfGroup, findingsOfBrokers } from './group-findings.ts'
import { isKafkajs } from '../fetch/own-decoder.ts'
import { findingsOfStranded } from './stranded-copies.ts'
import { findingsOfTopic } from './topic-findings.ts'

/** Asks the broker about the group and its topics. Nothing is changed, so all of it can be asked again. */
export async function checkGroup(
  kafka: CheckupKafkaLike,
  options: ResolvedKafka,
  consumer: CheckedConsumer,
): Promise<readonly CheckFinding[]> {
  const found = await new AdminClient(kafka).askAgain((admin) => look(admin, options, consumer))
  return [...findingsOfClient(kafka), ...found]
}

async function look(
  admin: CheckupAdminLike,
  options: ResolvedKafka,
  consumer: CheckedConsumer,
): Promise<readonly CheckFinding[]> {
  const { topology, group: groupId, startAt: start, setup } = options
  const existing = new Set(await admin.listTopics())
  const sources = topology.sources.filter((topic) => existing.has(topic))
  const asked = await Promise.all(
    sources.map(async (topic) => {
      const [settings, replicas] = await Promise.all([topicSettings(admin, topic), replicasOf(admin, topic)])
      return { topic, settings, replicas }
    }),
  )
  const copies = await Promise.all(
    topology.places.map(async (place) => {
      const settings = existing.has(place.topic) ? await topicSettings(admin, place.topic) : undefined
      return findingOfCopies(place, settings, { consumer, setup })
    }),
  )
  const stranded = await findingsOfStranded(admin, options, existing)
  const topics = asked.flatMap(({ settings }) => (settings.isTold ? [settings.value] : []))
  const [state, brokers] = await Promise.all([groupState(admin, groupId), brokerSettings(admin)])
  return [
    ...topology.sources.filter((topic) => !existing.has(topic)).map(missing),
    ...asked.flatMap(({ topic, ...told }) => findingsOfTopic(topic, told, consumer)),
    ...copies,
    ...stranded,
    findingOfGroup(groupId, state),
    ...findingsOfBrokers(brokers, consumer, { start, topics }),
  ]
}

function findingsOfClient(kafka: CheckupKafkaLike): CheckFinding[] {
  if (isKafkajs(kafka)) return []
  const found = 'the client is not the object that new Kafka() of kafkajs 2.2 returns'
  const meaning =
    'Its fetches may not be decoded here: then messages of transactions are not handled, because kafkajs hands over aborted ones too. Pass the object of kafkajs itself.'
  return [weaker('client', found, meaning)]
}

function missing(topic: string): CheckFinding {
  const found = `topic ${topic}: does not exist, or this client may not see it`
  const meaning =
    'Nothing of it is consumed, and a consumer that has no other topic cannot start. Create the topic, or correct its name.'
  return broken('topic missing', found, meaning)
}
