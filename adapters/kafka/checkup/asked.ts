import { isAnswer, errorType } from '../protocol-error.ts'
import type { Admin } from '../client.ts'

/** The broker's answer to a question, or why it refused to answer. */
export type Asked<T> = { readonly isTold: true; readonly value: T } | { readonly isTold: false; readonly why: string }

export type Settings = ReadonlyMap<string, string>

/** Resource types of DescribeConfigs. */
const TOPIC = 2
const BROKER = 4

/** The error of kafkajs for a group that may not be described, and for one whose coordinator is moving. */
const NO_COORDINATOR = 'KafkaJSGroupCoordinatorNotFound'

const OF_TOPIC = [
  'cleanup.policy',
  'retention.ms',
  'retention.bytes',
  'min.insync.replicas',
  'unclean.leader.election.enable',
  'message.timestamp.type',
  'message.timestamp.before.max.ms',
]
const OF_BROKER = ['auto.create.topics.enable', 'offsets.retention.minutes']

/** Turns a refusal into an answer. Rejects after any other error: the broker cannot be reached. */
async function asked<T>(question: Promise<T>): Promise<Asked<T>> {
  try {
    return { isTold: true, value: await question }
  } catch (error) {
    const why = errorType(error)
    if (!isAnswer(error) && why !== NO_COORDINATOR) throw error
    return { isTold: false, why }
  }
}

export function topicSettings(admin: Admin, topic: string): Promise<Asked<Settings>> {
  return asked(settings(admin, { type: TOPIC, name: topic, configNames: OF_TOPIC }))
}

/** The settings of each broker: they may differ. */
export function brokerSettings(admin: Admin): Promise<Asked<readonly Settings[]>> {
  const ofAll = async (): Promise<readonly Settings[]> => {
    const { brokers } = await admin.describeCluster()
    return Promise.all(
      brokers.map(({ nodeId }) => settings(admin, { type: BROKER, name: String(nodeId), configNames: OF_BROKER })),
    )
  }
  return asked(ofAll())
}

async function settings(
  admin: Admin,
  resource: { readonly type: number; readonly name: string; readonly configNames: string[] },
): Promise<Settings> {
  const { resources } = await admin.describeConfigs({ resources: [resource], includeSynonyms: false })
  const entries = resources[0]?.configEntries ?? []
  return new Map(entries.map(({ configName, configValue }) => [configName, configValue]))
}

/** The smallest number of replicas of a partition. The topic must exist: asking for a missing topic may create it. */
export function replicasOf(admin: Admin, topic: string): Promise<Asked<number>> {
  const fewest = async (): Promise<number> => {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
    return Math.min(...topics.flatMap(({ partitions }) => partitions.map(({ replicas }) => replicas.length)))
  }
  return asked(fewest())
}

/** `Stable`, `Empty`, `Dead` or another state of the group. */
export function groupState(admin: Admin, groupId: string): Promise<Asked<string>> {
  const state = async (): Promise<string> => {
    const { groups } = await admin.describeGroups([groupId])
    return groups[0]?.state ?? 'Dead'
  }
  return asked(state())
}

/** The number of messages in a topic beyond the group's committed offsets. The topic must exist. */
export function unhandledIn(admin: Admin, topic: string, groupId: string): Promise<Asked<number>> {
  const unhandled = async (): Promise<number> => {
    const bounds = await admin.fetchTopicOffsets(topic)
    const request = { groupId, topics: [topic] }
    // The first request may fail because the client does not know the group's coordinator yet.
    const offsets = await admin.fetchOffsets(request).catch(() => admin.fetchOffsets(request))
    const committed = new Map(offsets[0]?.partitions.map(({ partition, offset }) => [partition, Number(offset)]))
    const left = bounds.map(({ partition, low, high }) => {
      const next = Math.max(Number(low), committed.get(partition) ?? 0)
      return Math.max(0, Number(high) - next)
    })
    return left.reduce((sum, count) => sum + count, 0)
  }
  return asked(unhandled())
}
