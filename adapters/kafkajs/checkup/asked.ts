import { isAnswer, errorType } from '../protocol-error.ts'
import type { CheckupAdminLike } from '../slice.ts'

/** What a broker tells of one thing, or why it does not. */
export type Asked<T> = { readonly isTold: true; readonly value: T } | { readonly isTold: false; readonly why: string }

export type Settings = ReadonlyMap<string, string>

/** DescribeConfigs' numbers. */
const TOPIC = 2
const BROKER = 4

/** What kafkajs makes of a group that may not be described, and of one whose coordinator moves. */
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

/** A refusal is told as such; whatever is no answer of a broker rejects: it cannot be reached. */
async function asked<T>(question: Promise<T>): Promise<Asked<T>> {
  try {
    return { isTold: true, value: await question }
  } catch (error) {
    const why = errorType(error)
    if (!isAnswer(error) && why !== NO_COORDINATOR) throw error
    return { isTold: false, why }
  }
}

export function topicSettings(admin: CheckupAdminLike, topic: string): Promise<Asked<Settings>> {
  return asked(settings(admin, { type: TOPIC, name: topic, configNames: OF_TOPIC }))
}

/** Of each broker: they may differ. */
export function brokerSettings(admin: CheckupAdminLike): Promise<Asked<readonly Settings[]>> {
  const ofAll = async (): Promise<readonly Settings[]> => {
    const { brokers } = await admin.describeCluster()
    return Promise.all(
      brokers.map(({ nodeId }) => settings(admin, { type: BROKER, name: String(nodeId), configNames: OF_BROKER })),
    )
  }
  return asked(ofAll())
}

async function settings(
  admin: CheckupAdminLike,
  resource: { readonly type: number; readonly name: string; readonly configNames: string[] },
): Promise<Settings> {
  const { resources } = await admin.describeConfigs({ resources: [resource], includeSynonyms: false })
  const entries = resources[0]?.configEntries ?? []
  return new Map(entries.map(({ configName, configValue }) => [configName, configValue]))
}

/** The fewest replicas of a partition. The topic must have been listed: asking for another may create it. */
export function replicasOf(admin: CheckupAdminLike, topic: string): Promise<Asked<number>> {
  const fewest = async (): Promise<number> => {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
    return Math.min(...topics.flatMap(({ partitions }) => partitions.map(({ replicas }) => replicas.length)))
  }
  return asked(fewest())
}

/** Such as `Stable`, `Empty` or `Dead`. */
export function groupState(admin: CheckupAdminLike, groupId: string): Promise<Asked<string>> {
  const state = async (): Promise<string> => {
    const { groups } = await admin.describeGroups([groupId])
    return groups[0]?.state ?? 'Dead'
  }
  return asked(state())
}

/** Messages of a topic beyond what the group has committed there. The topic must have been listed. */
export function unhandledIn(admin: CheckupAdminLike, topic: string, groupId: string): Promise<Asked<number>> {
  const unhandled = async (): Promise<number> => {
    const bounds = await admin.fetchTopicOffsets(topic)
    const request = { groupId, topics: [topic] }
    // The first one may fail for the client does not know the group's broker yet.
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
