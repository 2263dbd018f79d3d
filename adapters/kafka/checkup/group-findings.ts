import { durationText, type CheckedConsumer, type CheckFinding } from '../../../src/internal.ts'
import { forbidden, holds, unknown, weaker, weakerByDefault } from './findings.ts'
import { isRemembered } from './topic-findings.ts'
import type { Asked, Settings } from './asked.ts'

/** Checks whether the group exists and may be described. */
export function findingOfGroup(groupId: string, state: Asked<string>): CheckFinding {
  const check = 'group'
  if (!state.isTold) return forbidden(check, `group ${groupId}`, state.why)
  const found = `group ${groupId}: ${state.value}`
  switch (state.value) {
    case 'Stable':
      return holds(check, found)
    case 'Dead':
      return unknown(
        check,
        found,
        'The broker knows no such group: it has never consumed, or its offsets were forgotten.',
      )
    case 'Empty':
      return unknown(check, found, 'Nobody consumes as this group now.')
    default:
      return unknown(
        check,
        found,
        'The group is between two assignments: ask again. If it always is, its members do not stay.',
      )
  }
}

/** Kafka's default of `offsets.retention.minutes`: 7 days. */
const DEFAULT_MINUTES = 10_080

interface Subscription {
  readonly start: 'earliest' | 'latest'
  /** Settings of the consumed topics, as far as they can be read. */
  readonly topics: readonly Settings[]
}

/** Checks broker settings that affect groups and topics of all kinds. */
export function findingsOfBrokers(
  brokers: Asked<readonly Settings[]>,
  consumer: CheckedConsumer,
  subscription: Subscription,
): CheckFinding[] {
  if (!brokers.isTold) return [forbidden('broker-settings', 'brokers', brokers.why)]
  return [offsetsRetention(brokers.value, consumer, subscription), autoCreation(brokers.value)]
}

function offsetsRetention(
  brokers: readonly Settings[],
  consumer: CheckedConsumer,
  { start, topics }: Subscription,
): CheckFinding {
  const { strategy, retentionMs, onBeyondRetention } = consumer
  const check = 'offsets-retention'
  const minutes = Math.min(...brokers.map((settings) => Number(settings.get('offsets.retention.minutes'))))
  const found = `offsets.retention.minutes ${minutes}, start ${start}`
  if (!Number.isSafeInteger(minutes)) {
    return unknown(check, 'offsets.retention.minutes: not told', 'Look at it by hand.')
  }
  const say = minutes === DEFAULT_MINUTES ? weakerByDefault : weaker
  const away = `A group that is away for ${durationText(minutes * 60_000)} loses its offsets`
  if (strategy === 'offsets') return holds(check, found)
  if (start === 'latest') {
    const meaning = `${away} and begins at the end: messages that arrive meanwhile are not handled. Use startAt: 'earliest', or raise it.`
    return say(check, found, meaning)
  }
  if (topics.every((settings) => isRemembered(settings, consumer))) return holds(check, found)
  const meaning = `${away} and begins at the beginning: what is older than the marks (${durationText(retentionMs)}) ${onBeyondRetention === 'skip' ? 'is skipped' : 'runs again'}. Raise it, or retentionMs of the consumer.`
  return say(check, found, meaning)
}

function autoCreation(brokers: readonly Settings[]): CheckFinding {
  const check = 'auto-create-topics'
  const values = [...new Set(brokers.map((settings) => settings.get('auto.create.topics.enable') ?? 'not told'))]
  const found = `auto.create.topics.enable ${values.join(', ')}`
  if (values.every((value) => value === 'false')) return holds(check, found)
  const meaning =
    'A deleted topic, or one that a producer misspells, is created empty with default settings instead of causing an error: no consumer reads its messages. Set it to false.'
  return values.includes('true') ? weakerByDefault(check, found, meaning) : unknown(check, found, meaning)
}
