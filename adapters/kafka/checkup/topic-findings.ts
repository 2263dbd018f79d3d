import { durationText, type CheckedConsumer, type CheckFinding } from '../../../src/internal.ts'
import type { Asked, Settings } from './asked.ts'
import { broken, forbidden, holds, unknown, weaker, weakerByDefault } from './findings.ts'

const DAY_MS = 86_400_000
/** Kafka's default of `message.timestamp.before.max.ms`. */
const UNBOUNDED = '9223372036854775807'

/** Checks the settings of a consumed topic. */
export function findingsOfTopic(
  topic: string,
  { settings, replicas }: { readonly settings: Asked<Settings>; readonly replicas: Asked<number> },
  consumer: CheckedConsumer,
): CheckFinding[] {
  const replication = replicationOf(topic, replicas, settings)
  if (!settings.isTold) return [forbidden('topic-settings', `topic ${topic}`, settings.why), replication]
  const { value } = settings
  return [
    cleanup(topic, value),
    retention(topic, value, consumer),
    shortRetention(topic, value),
    replication,
    uncleanElection(topic, value),
    timestamps(topic, value),
  ]
}

function cleanup(topic: string, settings: Settings): CheckFinding {
  const policy = settings.get('cleanup.policy') ?? ''
  const found = `topic ${topic}: cleanup.policy ${policy}`
  if (!policy.includes('compact')) return holds('cleanup-policy', found)
  return broken(
    'cleanup-policy compacted',
    found,
    'Compaction keeps only the last message of each key: it may delete one that was not handled yet. Set cleanup.policy to delete.',
  )
}

/** How long the broker can deliver a message again, in milliseconds; Infinity if there is no limit. */
export function keptMs(settings: Settings): number {
  const ms = Number(settings.get('retention.ms') ?? -1)
  return ms < 0 || settings.get('cleanup.policy') === 'compact' ? Number.POSITIVE_INFINITY : ms
}

function retention(topic: string, settings: Settings, consumer: CheckedConsumer): CheckFinding {
  const { retentionMs, onBeyondRetention } = consumer
  const kept = keptMs(settings)
  const found = `topic ${topic}: retention.ms ${settings.get('retention.ms')}, marks are kept for ${durationText(retentionMs)}, beyond that: ${onBeyondRetention}`
  if (isRemembered(settings, consumer)) return holds('retention', found)
  const howLong = kept === Number.POSITIVE_INFINITY ? 'for ever' : `for ${durationText(kept)}`
  const what =
    onBeyondRetention === 'skip'
      ? 'what is older than that and was never handled is skipped, and lost'
      : 'what was handled before its mark ended runs again'
  return weaker(
    'retention',
    found,
    `The topic keeps messages ${howLong}: when the group is set back, or has lost its offsets, ${what}. Raise retentionMs of the consumer, lower retention.ms, or take onBeyondRetention: 'park'.`,
  )
}

/** True if no message in the topic can have its effect twice, or be skipped unhandled. */
export function isRemembered(
  settings: Settings,
  { strategy, retentionMs, onBeyondRetention }: CheckedConsumer,
): boolean {
  return strategy === 'offsets' || onBeyondRetention === 'park' || keptMs(settings) <= retentionMs
}

/** A message that is deleted before it was handled is lost. */
function shortRetention(topic: string, settings: Settings): CheckFinding {
  const bytes = Number(settings.get('retention.bytes') ?? -1)
  const kept = keptMs(settings)
  const found = `topic ${topic}: retention.ms ${settings.get('retention.ms')}, retention.bytes ${bytes}`
  if (bytes >= 0) {
    return weaker(
      'retention-short',
      found,
      'The oldest messages of a partition are deleted once it is larger, whether they were handled or not. Set retention.bytes to -1, or watch the lag.',
    )
  }
  if (kept >= DAY_MS) return holds('retention-short', found)
  return weaker(
    'retention-short',
    found,
    `The broker deletes messages after ${durationText(kept)}, handled or not: an outage of that length loses messages. Raise retention.ms.`,
  )
}

function replicationOf(topic: string, replicas: Asked<number>, settings: Asked<Settings>): CheckFinding {
  const inSync = settings.isTold ? settings.value.get('min.insync.replicas') : undefined
  const count = replicas.isTold ? String(replicas.value) : replicas.why
  const found = `topic ${topic}: replicas ${count}, min.insync.replicas ${inSync ?? 'not told'}`
  if (replicas.isTold && replicas.value < 2) {
    return weakerByDefault(
      'replication',
      found,
      'The loss of one broker loses its messages. Raise the replication factor to 3.',
    )
  }
  if (!replicas.isTold || inSync === undefined) {
    return unknown('replication', found, 'The check cannot see how many brokers have a message when it is confirmed.')
  }
  if (Number(inSync) >= 2) return holds('replication', found)
  return weakerByDefault(
    'replication',
    found,
    'A producer with acks=all is answered when one broker has the message, whose loss then loses it. Set min.insync.replicas to 2.',
  )
}

function uncleanElection(topic: string, settings: Settings): CheckFinding {
  const enabled = settings.get('unclean.leader.election.enable')
  const found = `topic ${topic}: unclean.leader.election.enable ${enabled}`
  if (enabled !== 'true') return holds('unclean-leader-election', found)
  return weaker(
    'unclean-leader-election',
    found,
    'A replica that is behind may become leader: messages that were confirmed are lost then. Set it to false.',
  )
}

function timestamps(topic: string, settings: Settings): CheckFinding {
  const type = settings.get('message.timestamp.type')
  const oldest = settings.get('message.timestamp.before.max.ms')
  const found = `topic ${topic}: message.timestamp.type ${type}, message.timestamp.before.max.ms ${oldest ?? 'not told'}`
  const kept = keptMs(settings)
  if (type === 'LogAppendTime' || kept === Number.POSITIVE_INFINITY) return holds('timestamps', found)
  if (oldest !== undefined && Number(oldest) < kept) return holds('timestamps', found)
  return (oldest === undefined || oldest === UNBOUNDED ? weakerByDefault : weaker)(
    'timestamps',
    found,
    'Retention counts from a time that the producer writes: a message that comes with an old one is deleted early, handled or not. Set message.timestamp.type to LogAppendTime, or message.timestamp.before.max.ms to less than retention.ms.',
  )
}
