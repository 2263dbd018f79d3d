import { ConfigError } from '../../src/index.ts'

const groups = new Map<string, { readonly topics: string; members: number }>()

/**
 * One group id, one set of topics: the leader of a group of kafkajs hands its own topics to all members, so a member with
 * other topics leaves partitions that nobody reads. Returns what leaves the group again.
 *
 * @throws ConfigError `CONFIG_INVALID`
 */
export function enterGroup(groupId: string, topics: readonly string[]): () => void {
  const wanted = topics.toSorted().join(', ')
  const group = groups.get(groupId) ?? { topics: wanted, members: 0 }
  if (group.topics !== wanted) {
    throw new ConfigError([
      `groupId: expected one set of topics for one group, got ${wanted} where ${groupId} already runs with ${group.topics}: partitions would stay unread. Give one of the two another groupId`,
    ])
  }
  group.members++
  groups.set(groupId, group)
  let left = false
  return () => {
    if (left) return
    left = true
    if (--group.members === 0) groups.delete(groupId)
  }
}
