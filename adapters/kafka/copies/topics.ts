import { setTimeout as sleep } from 'node:timers/promises'
import { ConfigError } from '../../../src/internal.ts'
import type { AdminClient } from '../admin-client.ts'
import type { ResolvedKafka } from '../options/resolve.ts'
import type { Report } from '../report.ts'
import type { Admin } from '../client.ts'
import type { CopyPlace, Topology } from '../options/topology.ts'

/** Resource type of a topic in DescribeConfigs. */
const TOPIC_RESOURCE = 2
/** Room for the headers by which a copy is larger than its original. */
const ROOM_FOR_HEADERS = 65_536
/** A topic that was just created is not known to every broker yet. */
const LOOKS = 6
const LOOK_AGAIN_MS = 250

export interface PreparedTopics {
  /** All topics of the cluster, with those that were just created. */
  readonly existing: ReadonlySet<string>
  /** The places to compare with their sources. */
  readonly places: readonly CopyPlace[]
}

/**
 * Checks the topics before anything is consumed: a dead-letter topic that is found missing at the first poison message
 * would block its partition. One deleted topic must not keep a restart from consuming the others, so the start is
 * refused only if none of the source topics exists. Places that serve only missing topics are ignored.
 *
 * @throws ConfigError `CONFIG_INVALID`
 */
export async function prepareTopics(
  adminClient: AdminClient,
  options: ResolvedKafka,
  report: Report,
): Promise<PreparedTopics> {
  const { topology, setup, consumerConfig } = options
  /** With automatic creation the broker creates them on subscribe. */
  const needed = consumerConfig.allowAutoTopicCreation === true ? [] : topology.sources
  return adminClient.ask(async (admin) => {
    const existing = new Set(await existingOf(admin, needed))
    const isThere = (topic: string): boolean => needed.length === 0 || existing.has(topic)
    if (!topology.sources.some(isThere)) {
      throw new ConfigError(needed.map((topic) => `topics: ${topic} does not exist on the cluster`))
    }
    const places = setup === 'off' ? [] : placesOf(topology, isThere)
    const missing = places.filter(({ topic }) => !existing.has(topic))
    if (setup === 'check' && missing.length > 0) throw new ConfigError(missing.map(missingText))
    for (const place of missing) {
      await createMissing(admin, place)
      existing.add(place.topic)
      report(`${place.kind}-topic`, `${place.topic} was created`)
    }
    return { existing, places }
  })
}

/**
 * Compares the settings of places with those of their sources: reports possible problems.
 *
 * @throws ConfigError `CONFIG_INVALID` for those that would lose copies
 */
export async function comparePlaces(
  adminClient: AdminClient,
  places: readonly CopyPlace[],
  report: Report,
): Promise<void> {
  if (places.length === 0) return
  const problems = await adminClient.ask((admin) => Promise.all(places.map((place) => compare(admin, place, report))))
  if (problems.flat().length > 0) throw new ConfigError(problems.flat())
}

function placesOf({ places }: Topology, isThere: (topic: string) => boolean): CopyPlace[] {
  return places
    .map((place) => ({ ...place, sources: place.sources.filter(isThere) }))
    .filter(({ sources }) => sources.length > 0)
}

/** Creates a topic with the broker's default replication, and room for the largest message of its sources. */
export async function createMissing(admin: Admin, place: CopyPlace): Promise<void> {
  const limits = await Promise.all(place.sources.map((source) => settingsOf(admin, source)))
  const largest = Math.max(0, ...limits.map(({ maxMessageBytes = 0 }) => maxMessageBytes))
  const settings = {
    'cleanup.policy': 'delete',
    ...(largest === 0 ? {} : { 'max.message.bytes': String(largest + ROOM_FOR_HEADERS) }),
    // The delay and the retention of a copy count from its arrival at the broker.
    ...(place.kind === 'retry' ? { 'message.timestamp.type': 'LogAppendTime' } : {}),
  }
  const wanted = {
    topic: place.topic,
    numPartitions: place.kind === 'retry' ? await mostPartitions(admin, place.sources) : 1,
    replicationFactor: -1,
    configEntries: Object.entries(settings).map(([name, value]) => ({ name, value })),
  }
  // To wait for leaders makes kafkajs fail if some broker does not know the topic yet.
  await admin.createTopics({ waitForLeaders: false, topics: [wanted] })
  await existingOf(admin, [place.topic])
}

async function mostPartitions(admin: Admin, sources: readonly string[]): Promise<number> {
  const { topics } = await admin.fetchTopicMetadata({ topics: [...sources] })
  return Math.max(...topics.map(({ partitions }) => partitions.length))
}

function missingText({ kind, topic }: CopyPlace): string {
  return `${OPTION[kind]}: ${topic} does not exist; create it, or set setup: 'auto'`
}

const OPTION: Readonly<Record<CopyPlace['kind'], string>> = { 'dead-letter': 'deadLetter.topic', retry: 'retry.topics' }

/** Looks several times for the wanted topics: a new topic is not known to every broker at once. */
export async function existingOf(admin: Admin, wanted: readonly string[]): Promise<ReadonlySet<string>> {
  for (let looks = 1; ; looks++) {
    const existing = new Set(await admin.listTopics())
    if (looks === LOOKS || wanted.every((topic) => existing.has(topic))) return existing
    await sleep(LOOK_AGAIN_MS)
  }
}

/** How many partitions a topic has. To ask for a missing topic may create it, so it is looked up in a list first. */
export function partitionsOf(adminClient: AdminClient, topic: string, orElse: string): Promise<number> {
  return adminClient.askAgain(async (admin) => {
    if (!(await existingOf(admin, [topic])).has(topic))
      throw new Error(`the topic does not exist. Create it, ${orElse}`)
    return (await admin.fetchTopicOffsets(topic)).length
  })
}

/** Reports possible problems, and returns those that prevent the start. */
async function compare(admin: Admin, place: CopyPlace, report: Report): Promise<string[]> {
  const { kind, topic, delayMs } = place
  const [own, ...ofSources] = await Promise.all([topic, ...place.sources].map((name) => settingsOf(admin, name)))
  const { maxMessageBytes, isCompacted, retentionMs } = own ?? {}
  for (const [at, source] of place.sources.entries()) {
    const from = ofSources[at] ?? {}
    if (from.maxMessageBytes === undefined || maxMessageBytes === undefined) continue
    if (maxMessageBytes >= from.maxMessageBytes) continue
    report(
      `${kind}-topic`,
      `max.message.bytes of ${topic} is ${maxMessageBytes}, of ${source} ${from.maxMessageBytes}: a large message may never get there`,
    )
  }
  const problems: string[] = []
  if (isCompacted === true) {
    problems.push(
      `${OPTION[kind]}: expected cleanup.policy delete, got ${topic}, which is compacted: of the copies with one key only the last would stay, and those without a key are refused`,
    )
  }
  if (retentionMs !== undefined && retentionMs >= 0 && retentionMs <= delayMs) {
    problems.push(
      `${OPTION[kind]}: expected retention.ms of more than the delay (${delayMs}), got ${topic} with ${retentionMs}: messages would be gone before they are due`,
    )
  }
  return problems
}

interface TopicSettings {
  readonly maxMessageBytes?: number
  /** Negative: unlimited. */
  readonly retentionMs?: number
  readonly isCompacted?: boolean
  /** Messages are deleted after their retention. If false, `retentionMs` has no meaning. */
  readonly isDeleted?: boolean
}

/** Empty if we may not read the settings, or the topic does not exist. */
export async function settingsOf(admin: Admin, topic: string): Promise<TopicSettings> {
  try {
    const configNames = ['max.message.bytes', 'retention.ms', 'cleanup.policy']
    const resources = [{ type: TOPIC_RESOURCE, name: topic, configNames }]
    const answer = await admin.describeConfigs({ resources, includeSynonyms: false })
    const entries = answer.resources[0]?.configEntries ?? []
    const values = new Map(entries.map(({ configName, configValue }) => [configName, configValue]))
    const [maxMessageBytes, retentionMs] = [Number(values.get('max.message.bytes')), Number(values.get('retention.ms'))]
    return {
      ...(Number.isSafeInteger(maxMessageBytes) ? { maxMessageBytes } : {}),
      ...(Number.isSafeInteger(retentionMs) ? { retentionMs } : {}),
      isCompacted: values.get('cleanup.policy')?.includes('compact') === true,
      isDeleted: values.get('cleanup.policy')?.includes('delete') !== false,
    }
  } catch {
    return {}
  }
}
