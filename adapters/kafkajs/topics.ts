import { setTimeout as sleep } from 'node:timers/promises'
import { ConfigError } from '../../src/index.ts'
import type { AdminDesk } from './admin-desk.ts'
import type { ResolvedKafka } from './options.ts'
import type { Report } from './report.ts'
import type { AdminLike } from './slice.ts'

/** DescribeConfigs' number for a topic. */
const TOPIC_RESOURCE = 2
/** A dead letter is larger than its original by the headers that explain it. */
const ROOM_FOR_HEADERS = 65_536
/** A topic that was created a moment ago is not known to every broker yet. */
const LOOKS = 6
const LOOK_AGAIN_MS = 250

/**
 * Looks for the topics before anything is consumed: a dead-letter topic that turns out to be missing at the first poison
 * message would hold its partition up.
 *
 * @throws ConfigError `CONFIG_INVALID`
 */
export async function prepareTopics(desk: AdminDesk, options: ResolvedKafka, report: Report): Promise<void> {
  const { topics, deadLetterTopicOf, assertDeadLetterTopics, consumer } = options
  /** Else the broker may make them when they are subscribed to. */
  const needed = consumer.allowAutoTopicCreation === true ? [] : topics
  await desk.ask(async (admin) => {
    const existing = await existingOf(admin, needed)
    const missing = needed.filter((topic) => !existing.has(topic))
    const problems = missing.map((topic) => `topics: ${topic} does not exist on the cluster`)
    for (const source of topics) {
      const topic = deadLetterTopicOf(source)
      if (existing.has(topic)) {
        await compareSizes(admin, { source, topic }, report)
      } else if (!assertDeadLetterTopics) {
        problems.push(`deadLetterTopic: ${topic} does not exist; create it, or leave assertDeadLetterTopics on`)
      } else if (problems.length === 0) {
        await createMissing(admin, topic, source)
        report('dead-letter-topic', `${topic} was created`)
      }
    }
    if (problems.length > 0) throw new ConfigError(problems)
  })
}

/** One partition, replicas as the broker's default, and room for what the source allows. */
export async function createMissing(admin: AdminLike, topic: string, source: string): Promise<void> {
  const limit = await maxMessageBytes(admin, source)
  const configEntries =
    limit === undefined ? [] : [{ name: 'max.message.bytes', value: String(limit + ROOM_FOR_HEADERS) }]
  const wanted = { topic, numPartitions: 1, replicationFactor: -1, configEntries }
  // Waiting for leaders makes kafkajs fail where the topic is not known to all brokers at once.
  await admin.createTopics({ waitForLeaders: false, topics: [wanted] })
  await existingOf(admin, [topic])
}

async function existingOf(admin: AdminLike, wanted: readonly string[]): Promise<ReadonlySet<string>> {
  for (let looks = 1; ; looks++) {
    const existing = new Set(await admin.listTopics())
    if (looks === LOOKS || wanted.every((topic) => existing.has(topic))) return existing
    await sleep(LOOK_AGAIN_MS)
  }
}

async function compareSizes(admin: AdminLike, pair: { source: string; topic: string }, report: Report): Promise<void> {
  const [from, to] = [await maxMessageBytes(admin, pair.source), await maxMessageBytes(admin, pair.topic)]
  if (from === undefined || to === undefined || to >= from) return
  report(
    'dead-letter-topic',
    `max.message.bytes of ${pair.topic} is ${to}, of ${pair.source} ${from}: a large message may never become a dead letter`,
  )
}

/** `undefined` where we may not ask, or the topic is not there. */
async function maxMessageBytes(admin: AdminLike, topic: string): Promise<number | undefined> {
  try {
    const resources = [{ type: TOPIC_RESOURCE, name: topic, configNames: ['max.message.bytes'] }]
    const answer = await admin.describeConfigs({ resources, includeSynonyms: false })
    const value = Number(answer.resources[0]?.configEntries[0]?.configValue)
    return Number.isSafeInteger(value) ? value : undefined
  } catch {
    return undefined
  }
}
