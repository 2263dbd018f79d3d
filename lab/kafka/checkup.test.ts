import { beforeAllOpen, openedOnce } from '../../test/kit/opened.ts'
import { eventually } from '../../test/kit/eventually.ts'
import { RecordingIntake } from '../../test/kit/recording-intake.ts'
import { describe, expect, it } from '@jest/globals'
import { AclOperationTypes, AclPermissionTypes, AclResourceTypes, Kafka, logLevel, ResourcePatternTypes } from 'kafkajs'
import { kafkaSubscription, type KafkaOptions } from '../../adapters/kafkajs/index.ts'
import { doctor, type CheckFinding } from '../../src/index.ts'
import { type CheckedConsumer } from '../../src/internal.ts'
import { defineConsumer } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { backends } from '../../test/kit/backends.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { freePort } from '../../test/kit/servers/ports.ts'
import { startPrivateKafka, type PrivateKafka } from '../../test/kit/servers/private-kafka.ts'
import { Cluster } from '../../test/kafka/kit.ts'

const describeKafka = backends.has('kafka') ? describe : describe.skip

const DAY_MS = 86_400_000
const STARTS_WITHIN_MS = 120_000

const CONSUMER: CheckedConsumer = {
  strategy: 'lease',
  retentionMs: 7 * DAY_MS,
  onBeyondRetention: 'run',
  leaseMs: 30_000,
  longestRunMs: 65_000,
  maxAttempts: 5,
}

type Verdicts = Readonly<Record<string, CheckFinding['verdict']>>

interface Examined {
  readonly findings: readonly CheckFinding[]
  /** By check; of several the worst. */
  readonly verdicts: Verdicts
}

async function examine(
  kafka: Kafka,
  options: KafkaOptions,
  consumer: Partial<CheckedConsumer> = {},
): Promise<Examined> {
  const findings = (await kafkaSubscription(kafka, options).checkup?.({ ...CONSUMER, ...consumer })) ?? []
  for (const { verdict, meaning } of findings) expect(meaning === '').toBe(verdict === 'holds')
  return { findings, verdicts: Object.fromEntries(findings.map(({ check, verdict }) => [check, verdict])) }
}

/** Settings that weaken nothing. */
const SAFE = { 'retention.ms': String(6 * DAY_MS), 'message.timestamp.type': 'LogAppendTime' }

describeKafka('kafkaSubscription, on a broker', () => {
  let cluster: Cluster
  openedOnce(Cluster, (made) => (cluster = made))

  const examineTopic = async (
    config: Readonly<Record<string, string>>,
    more: Partial<KafkaOptions> & { readonly of?: Partial<CheckedConsumer> } = {},
  ): Promise<Examined> => {
    const { of, ...options } = more
    const topic = await cluster.topic(2, { ...SAFE, ...config })
    return examine(cluster.client(), { topics: [topic], group: uniqueName('group'), ...options }, of)
  }

  const strandedIn = async (options: KafkaOptions): Promise<readonly CheckFinding[]> =>
    (await examine(cluster.client(), options)).findings.filter(({ check }) => check === 'kafka.stranded-copies')

  it('reports the group and the source topics', async () => {
    const options = { topics: ['a', 'b'], group: 'g', retry: { topics: [{ delayMs: 1_000 }] } }
    expect(kafkaSubscription(cluster.client(), options)).toMatchObject({ group: 'g', origins: ['a', 'b'] })
    expect(() => kafkaSubscription(cluster.client(), { topics: [], group: '' })).toThrow(
      'topics: expected at least one',
    )
  })

  it('reports nothing for safe settings', async () => {
    const { verdicts } = await examineTopic({})
    expect(verdicts).toMatchObject({
      'kafka.cleanup-policy': 'holds',
      'kafka.retention': 'holds',
      'kafka.retention-short': 'holds',
      'kafka.timestamps': 'holds',
      'kafka.unclean-leader-election': 'holds',
      'kafka.dead-letter-topic': 'holds',
      'kafka.offsets-retention': 'holds',
      'kafka.auto-create-topics': 'holds',
    })
  })

  it.each([
    [{ 'cleanup.policy': 'compact' }, 'kafka.cleanup-policy', 'broken'],
    [{ 'cleanup.policy': 'compact,delete' }, 'kafka.cleanup-policy', 'broken'],
    [{ 'retention.ms': String(8 * DAY_MS) }, 'kafka.retention', 'weaker'],
    [{ 'retention.ms': '-1' }, 'kafka.retention', 'weaker'],
    [{ 'retention.ms': '3600000' }, 'kafka.retention-short', 'weaker'],
    [{ 'retention.bytes': '1000000' }, 'kafka.retention-short', 'weaker'],
    [{ 'unclean.leader.election.enable': 'true' }, 'kafka.unclean-leader-election', 'weaker'],
    [{ 'message.timestamp.type': 'CreateTime' }, 'kafka.timestamps', 'weaker'],
    [
      { 'message.timestamp.type': 'CreateTime', 'message.timestamp.before.max.ms': '3600000' },
      'kafka.timestamps',
      'holds',
    ],
    [{}, 'kafka.replication', 'weaker'],
  ] as const)('%j: %s %s', async (config, check, verdict) => {
    const { verdicts, findings } = await examineTopic(config)
    expect(verdicts[check]).toBe(verdict)
    const found = findings.find((finding) => finding.check === check)?.found ?? ''
    for (const [name, value] of Object.entries(config)) expect(found).toContain(`${name} ${value}`)
  })

  it('holds what the topic keeps against how long marks are kept; stored positions need none', async () => {
    const config = { 'retention.ms': String(8 * DAY_MS) }
    expect((await examineTopic(config, { of: { retentionMs: 9 * DAY_MS } })).verdicts['kafka.retention']).toBe('holds')
    expect((await examineTopic(config, { of: { strategy: 'offsets' } })).verdicts['kafka.retention']).toBe('holds')
    expect((await examineTopic(config, { of: { onBeyondRetention: 'park' } })).verdicts['kafka.retention']).toBe(
      'holds',
    )
    const { findings } = await examineTopic(config, { of: { onBeyondRetention: 'skip' } })
    expect(findings.find(({ check }) => check === 'kafka.retention')?.meaning).toContain('is skipped, and lost')
  })

  it('reports where a group begins whose offsets have expired', async () => {
    const config = { 'retention.ms': '-1' }
    expect((await examineTopic(config)).verdicts['kafka.offsets-retention']).toBe('weaker')
    expect((await examineTopic({}, { startAt: 'latest' })).verdicts['kafka.offsets-retention']).toBe('weaker')
    const offsets = { of: { strategy: 'offsets' } } as const
    expect((await examineTopic(config, offsets)).verdicts['kafka.offsets-retention']).toBe('holds')
  })

  it('finds topics that are missing, and creates none by looking', async () => {
    const topic = uniqueName('missing')
    const options = { topics: [topic], group: 'g', retry: { topics: [{ delayMs: 1_000 }] } } as const
    // With `off` a start does not look for copy topics, so they may only be hidden from this client.
    for (const [setup, copies] of [
      ['check', 'broken'],
      ['off', 'unknown'],
    ] as const) {
      expect((await examine(cluster.client(), { ...options, setup })).verdicts).toMatchObject({
        'kafka.topic': 'broken',
        'kafka.dead-letter-topic': copies,
        'kafka.retry-topic': copies,
      })
    }
    expect((await cluster.admin.listTopics()).filter((name) => name.startsWith(topic))).toEqual([])
  })

  it.each([
    [{ 'cleanup.policy': 'compact' }, 'broken'],
    [{ 'retention.ms': String(DAY_MS) }, 'weaker'],
    [{ 'retention.ms': '-1' }, 'holds'],
  ] as const)('of a dead-letter topic with %j: %s', async (config, verdict) => {
    const deadLetterTopic = await cluster.topic(1, config)
    expect(
      (await examineTopic({}, { deadLetter: { topic: deadLetterTopic } })).verdicts['kafka.dead-letter-topic'],
    ).toBe(verdict)
  })

  it.each([
    [{ 'cleanup.policy': 'compact' }, 1_000, 'broken'],
    [{ 'retention.ms': '60000' }, 60_000, 'broken'],
    [{ 'retention.ms': '-1' }, 7 * DAY_MS, 'weaker'],
    [{ 'retention.ms': '-1' }, 60_000, 'holds'],
  ] as const)('of a retry topic with %j and a delay of %i: %s', async (config, delayMs, verdict) => {
    const topic = await cluster.topic(1, config)
    expect((await examineTopic({}, { retry: { topics: [{ delayMs, topic }] } })).verdicts['kafka.retry-topic']).toBe(
      verdict,
    )
  })

  it('knows a group that consumes, and says unknown of one that does not', async () => {
    const topic = await cluster.topic()
    const groupId = uniqueName('group')
    const state = async (): Promise<CheckFinding | undefined> => {
      const { findings } = await examine(cluster.client(), { topics: [topic], group: groupId })
      return findings.find(({ check }) => check === 'kafka.group')
    }
    expect(await state()).toMatchObject({ verdict: 'unknown', found: `group ${groupId}: Dead` })
    await cluster.open({ topics: [topic], group: groupId })
    expect(await state()).toMatchObject({ verdict: 'holds', found: `group ${groupId}: Stable` })
    await cluster.closeSources()
    await eventually(async () => (await state())?.found === `group ${groupId}: Empty`)
  })

  describe('copies in retry topics that nobody consumes', () => {
    const retry = { topics: [{ delayMs: 1 }] }

    it('are found, of a group that was renamed and of a stage that was taken out, until they are handled', async () => {
      const [topic, before, groupId] = [await cluster.topic(), uniqueName('before'), uniqueName('after')]
      const [old, second] = [`${topic}.${before}.retry-1`, `${topic}.${groupId}.retry-2`]
      const settling = new RecordingIntake()
      settling.onDeliver = (delivery) => delivery.settle()
      await cluster.open({ topics: [topic], group: before, retry }, settling)
      await cluster.send(old, ['handled'])
      await cluster.untilCommitted(before, old, [1])
      await cluster.closeSources()
      const options = { topics: [topic], group: groupId, retry }
      await eventually(async () => (await cluster.admin.describeGroups([before])).groups[0]?.state === 'Empty')
      expect(await strandedIn(options)).toEqual([])

      await cluster.send(old, ['a', 'b'])
      await cluster.admin.createTopics({ waitForLeaders: false, topics: [{ topic: second, numPartitions: 1 }] })
      await eventually(async () => (await cluster.admin.listTopics()).includes(second))
      await cluster.send(second, ['c'])
      const found = await strandedIn(options)
      expect(found.toSorted((a, b) => a.found.localeCompare(b.found))).toEqual(
        [
          {
            check: 'kafka.stranded-copies',
            verdict: 'weaker',
            found: `retry topic ${old}: 2 messages not handled by group ${before}, which has no members`,
            meaning: expect.stringContaining(
              `Carry the offsets of ${before} in ${old} over to ${groupId}, and add ${old} to`,
            ),
          },
          {
            check: 'kafka.stranded-copies',
            verdict: 'broken',
            found: `retry topic ${second}: 1 message not handled by this group, which does not consume it`,
            meaning: expect.stringContaining('Put the stage back into retry.topics until it is drained.'),
            startsBecause: expect.stringContaining('stay where they are'),
          },
        ].toSorted((a, b) => a.found.localeCompare(b.found)),
      )

      // As it says.
      await cluster.admin.setOffsets({ groupId, topic: old, partitions: [{ partition: 0, offset: '1' }] })
      const draining = {
        topics: [topic, old],
        group: groupId,
        retry: { topics: [{ delayMs: 1 }, { delayMs: 2, topic: second }] },
      }
      const intake = new RecordingIntake()
      intake.onDeliver = (delivery) => delivery.settle()
      await cluster.open(draining, intake)
      await cluster.untilCommitted(groupId, old, [3])
      await cluster.untilCommitted(groupId, second, [1])
      await cluster.closeSources()
      expect(intake.deliveries.map(({ message }) => String(message.value)).toSorted()).toEqual(['a', 'b', 'c'])
      expect(await strandedIn(options)).toEqual([])
    }, 60_000)

    it('are not reported as stranded while their group runs', async () => {
      const [topic, other] = [await cluster.topic(), uniqueName('other')]
      await cluster.open({ topics: [topic], group: other, retry })
      await cluster.send(`${topic}.${other}.retry-1`, ['a'])
      expect(await strandedIn({ topics: [topic], group: uniqueName('group') })).toEqual([])
      await cluster.closeSources()
    })
  })

  it('rejects if no broker answers, and doctor reports that', async () => {
    const kafka = new Kafka({
      brokers: [`127.0.0.1:${await freePort()}`],
      logLevel: logLevel.NOTHING,
      retry: { retries: 0 },
    })
    const consumer = defineConsumer({ name: 'c', store: memoryStore(), handle: () => {} })
    const { unreachable } = await doctor(consumer, kafkaSubscription(kafka, { topics: ['t'], group: 'g' }))
    expect(unreachable).toEqual(['broker'])
  })
})

describeKafka('kafkaSubscription, on brokers with unsafe settings of their own', () => {
  let brokers: PrivateKafka
  let cluster: Cluster
  beforeAllOpen(async (own) => {
    const properties = { 'auto.create.topics.enable': 'true', 'offsets.retention.minutes': '60' }
    brokers = own(await startPrivateKafka({ brokers: 3, properties }))
    cluster = own(await Cluster.open(brokers.brokers))
  }, STARTS_WITHIN_MS)

  it('finds them, and tells two replicas in sync from one', async () => {
    const [one, two] = [await cluster.topic(1, { 'min.insync.replicas': '1' }), await cluster.topic(1, SAFE)]
    // A topic that was created a moment ago may still be unknown to one of the brokers.
    await eventually(async () => {
      const { verdicts } = await examine(cluster.client(), { topics: [one, two], group: 'g' })
      return verdicts['kafka.replication'] !== 'unknown'
    })
    const safe = await examine(cluster.client(), { topics: [two], group: 'g' })
    expect(safe.verdicts).toMatchObject({
      'kafka.replication': 'holds',
      'kafka.auto-create-topics': 'weaker',
      'kafka.offsets-retention': 'holds',
    })
    const unsafe = await examine(cluster.client(), { topics: [one], group: 'g', startAt: 'latest' })
    expect(unsafe.verdicts).toMatchObject({ 'kafka.replication': 'weaker', 'kafka.offsets-retention': 'weaker' })
    const offsets = unsafe.findings.find(({ check }) => check === 'kafka.offsets-retention')
    expect(offsets?.meaning).toContain('away for 1 h loses its offsets')
    const missing = uniqueName('missing')
    expect((await examine(cluster.client(), { topics: [missing], group: 'g' })).verdicts['kafka.topic']).toBe('broken')
    expect(await cluster.admin.listTopics()).not.toContain(missing)
  })
})

describeKafka('kafkaSubscription, without the rights to look', () => {
  let brokers: PrivateKafka
  let cluster: Cluster
  beforeAllOpen(async (own) => {
    const properties = {
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      'allow.everyone.if.no.acl.found': 'true',
    }
    brokers = own(await startPrivateKafka({ properties }))
    cluster = own(await Cluster.open(brokers.brokers))
  }, STARTS_WITHIN_MS)

  const forbid = async (
    resourceType: AclResourceTypes,
    resourceName: string,
    operation: AclOperationTypes,
  ): Promise<void> => {
    const of = {
      resourceType,
      resourceName,
      resourcePatternType: ResourcePatternTypes.LITERAL,
      principal: 'User:ANONYMOUS',
      host: '*',
    }
    await cluster.admin.createAcls({
      acl: [
        { ...of, operation: AclOperationTypes.ALL, permissionType: AclPermissionTypes.ALLOW },
        { ...of, operation, permissionType: AclPermissionTypes.DENY },
      ],
    })
  }

  it('answers unknown, never fine', async () => {
    const topic = await cluster.topic(1, SAFE)
    await forbid(AclResourceTypes.TOPIC, topic, AclOperationTypes.DESCRIBE_CONFIGS)
    await forbid(AclResourceTypes.CLUSTER, 'kafka-cluster', AclOperationTypes.DESCRIBE_CONFIGS)
    await forbid(AclResourceTypes.GROUP, 'secret', AclOperationTypes.DESCRIBE)
    await eventually(async () => {
      const { verdicts } = await examine(cluster.client(), { topics: [topic], group: 'secret' })
      return (
        verdicts['kafka.topic-settings'] === 'unknown' &&
        verdicts['kafka.broker-settings'] === 'unknown' &&
        verdicts['kafka.group'] === 'unknown'
      )
    })
    const { findings, verdicts } = await examine(cluster.client(), { topics: [topic], group: 'secret' })
    expect(Object.values(verdicts)).not.toContain('broken')
    expect(findings.find(({ check }) => check === 'kafka.topic-settings')).toMatchObject({
      found: `topic ${topic}: TOPIC_AUTHORIZATION_FAILED`,
      meaning: expect.stringContaining('may not be looked at'),
    })
    expect(findings.find(({ check }) => check === 'kafka.group')?.found).toMatch(/^group secret: \w+$/)
  })
})
