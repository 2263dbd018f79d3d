import { describe, expect, it } from '@jest/globals'
import type { CheckedConsumer } from '../../../src/internal.ts'
import { findingsOfBrokers } from '../../../adapters/kafka/checkup/group-findings.ts'
import { findingsOfTopic } from '../../../adapters/kafka/checkup/topic-findings.ts'

const CONSUMER: CheckedConsumer = {
  strategy: 'lease',
  retentionMs: 7 * 86_400_000,
  onBeyondRetention: 'run',
  leaseMs: 30_000,
  longestRunMs: 30_000,
  maxAttempts: 5,
}
/** Of a topic that was created with nothing but its name, on Kafka 4. */
const DEFAULTS = {
  'cleanup.policy': 'delete',
  'retention.ms': '604800000',
  'retention.bytes': '-1',
  'min.insync.replicas': '1',
  'unclean.leader.election.enable': 'false',
  'message.timestamp.type': 'CreateTime',
  'message.timestamp.before.max.ms': '9223372036854775807',
}

function byDefault(settings: Readonly<Record<string, string>>): readonly string[] {
  const told = { isTold: true, value: new Map(Object.entries({ ...DEFAULTS, ...settings })) } as const
  const findings = findingsOfTopic('t', { settings: told, replicas: { isTold: true, value: 1 } }, CONSUMER)
  return findings.filter(({ isServerDefault }) => isServerDefault === true).map(({ check }) => check)
}

function ofBrokers(minutes: string, start: 'earliest' | 'latest'): readonly (readonly [string, unknown])[] {
  const settings = new Map([
    ['offsets.retention.minutes', minutes],
    ['auto.create.topics.enable', 'true'],
  ])
  const findings = findingsOfBrokers({ isTold: true, value: [settings] }, CONSUMER, { start, topics: [] })
  return findings.map(({ check, isServerDefault }) => [check, isServerDefault])
}

describe('a setting that makes the guarantee weaker', () => {
  it('is called the default of Kafka only where it has that value', () => {
    expect(byDefault({})).toEqual(['kafka.replication', 'kafka.timestamps'])
    expect(byDefault({ 'message.timestamp.before.max.ms': '864000000', 'retention.bytes': '1000' })).toEqual([
      'kafka.replication',
    ])
    expect(ofBrokers('10080', 'latest')).toEqual([
      ['kafka.offsets-retention', true],
      ['kafka.auto-create-topics', true],
    ])
    expect(ofBrokers('60', 'latest')).toEqual([
      ['kafka.offsets-retention', undefined],
      ['kafka.auto-create-topics', true],
    ])
  })
})
