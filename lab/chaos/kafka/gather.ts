import type { Cluster } from '../../../test/kafka/kit.ts'
import { OFFSETS_TOPIC } from './cluster-control.ts'
import type { LoggedMessage, OffsetCommit, PartitionEvidence } from './evidence.ts'

/** Reads back the topic, and all that the group ever committed. */
export async function gatherPartitions(
  cluster: Cluster,
  groupId: string,
  topic: string,
): Promise<readonly PartitionEvidence[]> {
  const logs = await readLogs(cluster, topic)
  const commits = await readCommits(cluster, groupId, topic)
  const committed = await cluster.committed(groupId, topic)
  return logs.map((log, partition) => ({
    log,
    commits: commits.get(partition) ?? [],
    committed: committed[partition] ?? -1,
  }))
}

/** Also what was aborted: kafkajs would hand over some of it, and leave out some that was not (K22). */
async function readLogs(cluster: Cluster, topic: string): Promise<readonly PartitionEvidence['log'][]> {
  const ends = (await cluster.highs(topic)).toSorted((a, b) => a.partition - b.partition)
  const logs = ends.map((): (LoggedMessage | undefined)[] => [])
  const onMessage: Parameters<Cluster['readAll']>[1] = ({ key, headers, offset }, partition) => {
    const log = logs[partition]
    if (log === undefined || Number(offset) < log.length) return // Read again after a rebalance of the reader.
    while (log.length < Number(offset)) log.push(undefined)
    log.push({ id: String(headers?.['message-id']), key: String(key) })
  }
  await cluster.readAll(topic, onMessage, { readUncommitted: true })
  for (const { partition, high } of ends) {
    const log = logs[partition] ?? []
    while (log.length < Number(high)) log.push(undefined)
    // More would be missing than the ends of transactions, of which there may be one for each message of one.
    const found = log.filter((message) => message !== undefined).length
    if (found < log.length / 2) throw new Error(`${topic}/${partition} has ${high} messages, read were ${found}`)
  }
  return logs
}

/** By partition of the topic. The brokers have compacted nothing of it: a segment in use is left alone. */
async function readCommits(
  cluster: Cluster,
  groupId: string,
  topic: string,
): Promise<ReadonlyMap<number, readonly OffsetCommit[]>> {
  const commits = new Map<number, OffsetCommit[]>()
  const next = new Map<number, number>()
  await cluster.readAll(OFFSETS_TOPIC, ({ key, value, timestamp, offset }, place) => {
    const expected = next.get(place) ?? 0
    if (Number(offset) < expected) return
    if (Number(offset) > expected) throw new Error(`${OFFSETS_TOPIC}/${place} has lost ${expected} to ${offset}`)
    next.set(place, expected + 1)
    if (key === null || value === null || key.readInt16BE(0) > 1) return
    const [group, topicAt] = textAt(key, 2)
    const [ofTopic, partitionAt] = textAt(key, topicAt)
    if (group !== groupId || ofTopic !== topic) return
    const partition = key.readInt32BE(partitionAt)
    const ofPartition = commits.get(partition) ?? []
    ofPartition.push({ offset: Number(value.readBigInt64BE(2)), at: Number(timestamp) })
    commits.set(partition, ofPartition)
  })
  return commits
}

/** A text with its length before it, and where the next field begins. */
function textAt(bytes: Buffer, at: number): readonly [text: string, next: number] {
  const end = at + 2 + bytes.readInt16BE(at)
  return [bytes.toString('utf8', at + 2, end), end]
}
