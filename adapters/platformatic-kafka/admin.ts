import type { Admin } from '../kafka/client.ts'
import type { BaseOptionsLike, BrokerLike, PlatformaticLike } from './platformatic-like.ts'
import { BrokerAnswer } from './wire/answers.ts'
import { Offsets } from './wire/offsets.ts'
import { Wire } from './wire/wire.ts'

const BROKER = 4
const WITHIN_MS = 30_000

interface ConfigsAnswer {
  readonly results: readonly {
    readonly resourceName: string
    readonly configs: readonly { readonly name: string; readonly value: string | null }[]
  }[]
}

/** Requests about topics and groups, over connections of its own. Rejects if none of the brokers answers. */
export async function openAdmin(lib: PlatformaticLike, options: BaseOptionsLike): Promise<Admin> {
  const wire = new Wire(lib, options)
  const offsets = new Offsets(wire)
  try {
    await wire.metadata([])
  } catch (error) {
    await wire.close()
    throw error
  }
  const controller = async (): Promise<BrokerLike | undefined> => {
    const metadata = await wire.metadata([])
    return metadata.brokers.get(metadata.controller)
  }

  return {
    disconnect: () => wire.close(),
    listTopics: async () => [...(await wire.metadata(undefined)).topics.keys()],
    createTopics: async ({ topics }) => {
      const wanted = topics.map(({ topic, numPartitions, replicationFactor, configEntries }) => ({
        name: topic,
        numPartitions,
        replicationFactor,
        assignments: [],
        configs: configEntries,
      }))
      try {
        await wire.request('CreateTopics', await controller(), [wanted, WITHIN_MS, false])
        return true
      } catch (error) {
        if (error instanceof BrokerAnswer && error.type === 'TOPIC_ALREADY_EXISTS') return false
        throw error
      }
    },
    describeCluster: async () => {
      const { brokers } = await wire.metadata([])
      return { brokers: [...brokers.keys()].map((nodeId) => ({ nodeId })) }
    },
    describeConfigs: async ({ resources }) => {
      const { brokers } = await wire.metadata([])
      const answers = await Promise.all(
        resources.map(async ({ type, name, configNames }) => {
          const resource = { resourceType: type, resourceName: name, configurationKeys: configNames }
          // A broker knows only its own settings.
          const broker = type === BROKER ? brokers.get(Number(name)) : undefined
          return wire.request<ConfigsAnswer>('DescribeConfigs', broker, [[resource], false, false])
        }),
      )
      return {
        resources: answers.flatMap(({ results }) =>
          results.map(({ resourceName, configs }) => ({
            resourceName,
            configEntries: configs.map(({ name, value }) => ({ configName: name, configValue: value ?? '' })),
          })),
        ),
      }
    },
    describeGroups: async (groupIds) => {
      const groups = await Promise.all(groupIds.map((groupId) => stateOf(wire, groupId)))
      return { groups: groups.map((state) => ({ state })) }
    },
    deleteGroups: async (groupIds) => {
      for (const groupId of groupIds) {
        await wire.request('DeleteGroups', await wire.coordinatorOf(groupId), [[groupId]])
      }
    },
    fetchOffsets: async ({ groupId, topics }) => {
      const found = await offsets.ofGroup(groupId, topics)
      return topics.map((topic) => ({
        topic,
        partitions: (found.get(topic) ?? []).map(({ partition, offset, metadata }) => ({
          partition,
          offset: offset.toString(),
          metadata,
        })),
      }))
    },
    fetchTopicMetadata: async ({ topics }) => {
      const metadata = await wire.metadata(topics)
      return {
        topics: topics.map((topic) => {
          const found = metadata.topics.get(topic)
          if (found === undefined) throw new BrokerAnswer('UNKNOWN_TOPIC_OR_PARTITION', true)
          return { partitions: found.partitions.map(({ replicas }) => ({ replicas: [...replicas] })) }
        }),
      }
    },
    fetchTopicOffsets: async (topic) => {
      const [low, high] = await Promise.all([offsets.at(topic, Offsets.EARLIEST), offsets.at(topic, Offsets.LATEST)])
      return [...high].map(([partition, offset]) => ({
        partition,
        low: (low.get(partition) ?? 0n).toString(),
        high: offset.toString(),
      }))
    },
    fetchTopicOffsetsByTimestamp: async (topic, timestamp) => {
      const [since, high] = await Promise.all([offsets.at(topic, BigInt(timestamp)), offsets.at(topic, Offsets.LATEST)])
      return [...high].map(([partition, end]) => ({ partition, offset: (since.get(partition) ?? end).toString() }))
    },
  }
}

interface GroupsAnswer {
  readonly groups: readonly { readonly errorCode: number; readonly groupState: string }[]
}

/** A group of KIP-848 is described by a request of its own, and the older one says that it is dead. */
async function stateOf(wire: Wire, groupId: string): Promise<string> {
  const coordinator = await wire.coordinatorOf(groupId)
  const classic = await wire
    .request<GroupsAnswer>('DescribeGroups', coordinator, [[groupId], false])
    .catch(unlessUnknown)
  const [group] = classic?.groups ?? []
  if (group !== undefined && group.groupState !== 'Dead') return group.groupState
  const incremental = await wire
    .request<GroupsAnswer>('ConsumerGroupDescribe', coordinator, [[groupId], false])
    .catch(() => undefined)
  return incremental?.groups[0]?.groupState ?? 'Dead'
}

function unlessUnknown(error: unknown): undefined {
  if (error instanceof BrokerAnswer && error.type === 'GROUP_ID_NOT_FOUND') return undefined
  throw error
}
