import { ConfigError } from '../../../src/internal.ts'
import type { Topology } from '../options/topology.ts'

interface Group {
  readonly sources: readonly string[]
  readonly retryTopics: readonly string[]
  /** `undefined`: its members did not give a name. */
  readonly consumer: string | undefined
  /** The clients of its members in this process. */
  readonly clients: Set<object>
}

const groups = new Map<string, Group>()

/**
 * Ensures one set of topics and one consumer for each group ID in this process. The leader of a kafkajs group hands its
 * own topics to all members, so with different topics some partitions would not be read. Members with different
 * consumers would each handle only a part of the messages. Returns a function that leaves the group.
 *
 * @throws ConfigError `CONFIG_INVALID`, `CONSUMER_NAME_TAKEN`
 */
export function enterGroup(
  client: object,
  groupId: string,
  { sources, places }: Topology,
  consumer?: string,
): () => void {
  const retryTopics = places.filter(({ kind }) => kind === 'retry').map(({ topic }) => topic)
  const group = groups.get(groupId) ?? { sources, retryTopics, consumer, clients: new Set() }
  const problems = [
    ...otherTopics(groupId, group, { sources, retryTopics }),
    ...(group.clients.has(client) ? [sharedClient(groupId)] : []),
    ...sharedRetries(groupId, { sources, retryTopics }),
  ]
  if (problems.length > 0) throw new ConfigError(problems)
  if (group.consumer !== undefined && consumer !== undefined && group.consumer !== consumer) {
    throw new ConfigError([otherName(groupId, group.consumer, consumer)], 'CONSUMER_NAME_TAKEN')
  }
  group.clients.add(client)
  groups.set(groupId, group)
  return () => {
    group.clients.delete(client)
    if (group.clients.size === 0 && groups.get(groupId) === group) groups.delete(groupId)
  }
}

type Topics = Pick<Group, 'sources' | 'retryTopics'>

function otherTopics(groupId: string, there: Topics, wanted: Topics): string[] {
  const [runs, got] = [there, wanted].map(({ sources, retryTopics }) =>
    [...sources, ...retryTopics].toSorted().join(', '),
  )
  if (runs === got) return []
  return [
    `group: expected one set of topics for one group, got ${got} where ${groupId} already runs with ${runs}: partitions would stay unread. Give one of the two another group`,
  ]
}

function otherName(groupId: string, runs: string, got: string): string {
  return `group: expected one consumer for one group, got ${JSON.stringify(got)} where ${groupId} already runs ${JSON.stringify(runs)}: each would handle a part of the messages. Give one of the two another group`
}

function sharedClient(groupId: string): string {
  return `kafka: expected a client of its own for each member of a group, got one that already runs a member of ${groupId}: kafkajs keeps a group's offsets per client, and each of the two would overwrite those of the other. Give each its own new Kafka()`
}

/** A group that consumes another group's retry topic would handle messages that the other group failed at. */
function sharedRetries(groupId: string, { sources, retryTopics }: Topics): string[] {
  const problems: string[] = []
  for (const [otherId, other] of groups) {
    if (otherId === groupId) continue
    const theirs = other.retryTopics.filter((topic) => sources.includes(topic) || retryTopics.includes(topic))
    const mine = retryTopics.filter((topic) => other.sources.includes(topic))
    for (const topic of theirs) {
      problems.push(`topics: expected no retry topic of another group, got ${topic}, where messages of ${otherId} wait`)
    }
    for (const topic of mine) {
      problems.push(`retry.topics: expected topics that nobody else consumes, got ${topic}, which ${otherId} consumes`)
    }
  }
  return problems
}
