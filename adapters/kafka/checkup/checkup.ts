import type { CheckedConsumer, CheckFinding } from '../../../src/internal.ts'
import { AdminClient } from '../admin-client.ts'
import type { ResolvedKafka } from '../options/resolve.ts'
import type { Admin, KafkaClient } from '../client.ts'
import { brokerSettings, groupState, replicasOf, topicSettings } from './asked.ts'
import { findingOfCopies } from './copy-findings.ts'
import { broken } from './findings.ts'
import { findingOfGroup, findingsOfBrokers } from './group-findings.ts'
import { findingsOfStranded } from './stranded-copies.ts'
import { findingsOfTopic } from './topic-findings.ts'

/** Asks the broker about the group and its topics. Nothing is changed, so all of it can be asked again. */
export async function checkGroup(
  client: KafkaClient,
  options: ResolvedKafka,
  consumer: CheckedConsumer,
): Promise<readonly CheckFinding[]> {
  const found = await new AdminClient(client).askAgain((admin) => look(admin, options, consumer))
  return [...client.checkup(), ...found]
}

async function look(admin: Admin, options: ResolvedKafka, consumer: CheckedConsumer): Promise<readonly CheckFinding[]> {
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

function missing(topic: string): CheckFinding {
  const found = `topic ${topic}: does not exist, or this client may not see it`
  const meaning =
    'Nothing of it is consumed, and a consumer that has no other topic cannot start. Create the topic, or correct its name.'
  return broken('topic missing', found, meaning)
}
