import type { ReplayItem, ReplayPlaces, ReplayRange, ReplayReader, ReadOptions } from '../../src/internal.ts'
import {
  kafkaSubscription,
  type AdaptedKafka,
  type KafkaOptions,
  type KafkaLike,
} from '../../adapters/kafkajs/index.ts'
import { FAST, type Cluster } from './kit.ts'

export function placesOf(
  cluster: Cluster,
  topic: string,
  options: Partial<KafkaOptions> = {},
  client: KafkaLike | AdaptedKafka = cluster.kafka(),
): ReplayPlaces {
  const { replay } = kafkaSubscription(client, { ...FAST, topics: [topic], group: 'live', ...options })
  if (replay === undefined) throw new Error('the subscription has no places to replay')
  return replay
}

export async function readAll(
  reader: ReplayReader,
  range: ReplayRange,
  options: Partial<ReadOptions> = {},
): Promise<readonly ReplayItem[]> {
  const items: ReplayItem[] = []
  const { signal } = new AbortController()
  for await (const batch of reader.read(range, { signal, ...options })) items.push(...batch)
  return items
}

export function spansOf({ parts }: ReplayRange): readonly string[] {
  return parts.map(({ part, from, to }) => `${part.slice(part.lastIndexOf('/') + 1)}: ${from}-${to}`)
}

export function valuesOf(items: readonly ReplayItem[]): readonly string[] {
  return items.map(({ message: { value } }) => Buffer.from(value ?? []).toString())
}

/** The groups of replays that are in the cluster now. */
export async function replayGroups(cluster: Cluster): Promise<readonly string[]> {
  const { groups } = await cluster.admin.listGroups()
  return groups.map(({ groupId }) => groupId).filter((groupId) => groupId.startsWith('consume-once-replay-'))
}
