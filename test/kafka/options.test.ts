import { openedOnce } from '../kit/opened.ts'
import { RecordingIntake } from '../kit/recording-intake.ts'
import { describe, expect, it } from '@jest/globals'
import { Kafka, logLevel } from 'kafkajs'
import { kafkaSubscription, runKafka, type KafkaConsumerOptions } from '../../adapters/kafkajs/index.ts'
import { kafkaSource } from '../../adapters/kafkajs/client.ts'
import { ConfigError, defineConsumer, doctor } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { freePort } from '../kit/servers/ports.ts'
import { uniqueName } from '../kit/namespace.ts'
import { Cluster, FAST } from './kit.ts'
import { ScriptedKafka } from './scripted.ts'

function problemsOf(options: object): readonly string[] {
  try {
    kafkaSource(new ScriptedKafka(), { topics: ['t'], group: 'refused', ...options })
  } catch (error) {
    return error instanceof ConfigError ? error.problems : [String(error)]
  }
  return []
}

function retryOn(...topics: object[]): object {
  return { retry: { topics } }
}

function withRetry(topics: string[], retry: string): ReturnType<typeof kafkaSource> {
  const options = { topics, group: uniqueName('group'), ...retryOn({ delayMs: 1, topic: retry }) }
  return kafkaSource(new ScriptedKafka(), options)
}

/** As a program without types gives them. */
const UNSET = { rackId: undefined, retry: { retries: 12, multiplier: undefined } } as unknown as KafkaConsumerOptions

describe('the options of a Kafka source', () => {
  it.each<[string, object, string]>([
    ['no topic', { topics: [] }, 'topics: expected at least one'],
    ['its own dead letters', { topics: ['t', 't.dead-letter'] }, 'got t.dead-letter, where dead letters of t go'],
    ['its own dead letters, by a function', { deadLetter: { topic: () => 't' } }, 'got t, where dead letters of t go'],
    [
      'its own dead letters, by a name',
      { topics: ['t', 'u'], deadLetter: { topic: 'u' } },
      'got u, where dead letters of t, u go',
    ],
    [
      'no dead-letter topic',
      { deadLetter: { topic: () => '' } },
      'deadLetter.topic: expected the name of a topic for t, got ""',
    ],
    [
      'a heartbeat too slow for its session',
      { consumerConfig: { heartbeatInterval: 10_001 } },
      'consumerConfig.heartbeatInterval: expected at most a third of sessionTimeout (30000), got 10001: one late heartbeat would end the membership; lower it, or raise sessionTimeout to 30003',
    ],
    [
      'a fetch too long for its session',
      { consumerConfig: { maxWaitTimeInMs: 10_001 } },
      'at most a third of sessionTimeout',
    ],
    [
      'no retry topic',
      { retry: { topics: [] } },
      'retry.topics: expected at least one, in a list, of retry topics, got none',
    ],
    [
      'a misspelt option of a retry topic',
      retryOn({ delayMs: 1, name: 'r' }),
      'retry.topics[0].name: unknown option; expected one of delayMs, topic',
    ],
    [
      'what is no retry topic',
      retryOn({ delayMs: 1, topic: () => '' }),
      'retry.topics[0].topic: expected the name of a topic for t, got ""',
    ],
    [
      'a group whose name no topic can bear',
      { ...retryOn({ delayMs: 1 }), group: 'my group' },
      'retry.topics[0].topic: expected the name of a topic for t, got "t.my group.retry-1"',
    ],
    [
      'one retry topic for two delays',
      retryOn({ delayMs: 1, topic: 'r' }, { delayMs: 2, topic: 'r' }),
      'retry.topics: expected each topic once, got r twice',
    ],
    [
      'a retry topic that is consumed',
      { topics: ['t', 'r'], ...retryOn({ delayMs: 1, topic: 'r' }) },
      'retry.topics: expected none of the topics to consume, got r, where messages of t, r wait',
    ],
    [
      'a retry topic that is a dead-letter topic',
      { ...retryOn({ delayMs: 1, topic: 't.dead-letter' }) },
      'got t.dead-letter, where dead letters of t go: they would be consumed again',
    ],
    ['a misspelt option', { topic: 't' }, 'topic: unknown option; did you mean topics?'],
    [
      'a misspelt option of the consumer',
      { consumerConfig: { sesionTimeout: 1 } },
      'consumerConfig.sesionTimeout: unknown option; did you mean sessionTimeout?',
    ],
    [
      'a misspelt option of its retries',
      { consumerConfig: { retry: { retrys: 9 } } },
      'consumerConfig.retry.retrys: unknown option; did you mean retries?',
    ],
    ['a consumer option beside it', { sessionTimeout: 6_000 }, 'sessionTimeout: give it inside of consumerConfig'],
    [
      'an option inside of consumerConfig',
      { consumerConfig: { groupId: 'g' } },
      'consumerConfig.groupId: its name is group',
    ],
    ['the group by its name in kafkajs', { groupId: 'g' }, 'groupId: its name is group'],
    ['what belongs to the client', { ssl: true }, 'ssl: give it to new Kafka()'],
    [
      'a restart of its own',
      { consumerConfig: { retry: { restartOnFailure: 1 } } },
      'consumerConfig.retry.restartOnFailure: leave it out: after a crash the adapter builds a new consumer',
    ],
    [
      'uncommitted messages',
      { consumerConfig: { readUncommitted: true } },
      'readUncommitted: leave it out: a message that is aborted later would have had its effect',
    ],
    ['commits of kafkajs', { autoCommit: true }, 'autoCommit: leave it out: handlers run outside of the client'],
    ['commits by a time', { consumerConfig: { autoCommitInterval: 1 } }, 'commitEveryMs says how often'],
    ['commits by a number', { consumerConfig: { autoCommitThreshold: 1 } }, 'commitEveryMs says how often'],
    ['a handler of messages', { eachMessage: () => {} }, 'eachMessage: leave it out: the handler is that of'],
    ['a handler of batches', { eachBatch: () => {} }, 'eachBatch: leave it out: the handler is that of'],
    [
      'positions of kafkajs',
      { eachBatchAutoResolve: true },
      'eachBatchAutoResolve: leave it out: a position moves when',
    ],
    ['a beginning of kafkajs', { fromBeginning: false }, 'fromBeginning: leave it out: it would be asked again after'],
  ])('refuse %s', (_what, options, problem) => {
    expect(problemsOf(options)).toEqual(expect.arrayContaining([expect.stringContaining(problem)]))
  })

  it.each([undefined, null])('are refused where none are given: %s', (options) => {
    const broker = (): unknown => kafkaSource(new ScriptedKafka(), options as never)
    expect(broker).toThrow(ConfigError)
  })

  it('are refused with all problems at once', () => {
    expect(problemsOf({ topics: [], group: '', commitEveryMs: -1, order: 'x' })).toHaveLength(4)
  })

  it('of kafkajs are passed through, all of them, with what the adapter owns', async () => {
    const kafka = new ScriptedKafka()
    kafka.topics.push('t')
    const groupId = uniqueName('group')
    const passed = {
      rackId: 'r',
      minBytes: 2,
      maxBytes: 1,
      maxBytesPerPartition: 3,
      maxInFlightRequests: 4,
      rebalanceTimeout: 7,
      metadataMaxAge: 5,
      partitionAssigners: ['mine'],
    }
    const factors = { factor: 0.5, multiplier: 3, initialRetryTime: 7 }
    const consumer: object = { ...passed, sessionTimeout: undefined, retry: { retries: 12, ...factors } }
    const { source } = kafkaSource(kafka, { topics: ['t'], group: groupId, consumerConfig: consumer })
    await source.open(new RecordingIntake())
    const { retry, ...config } = kafka.newest.config
    expect(config).toEqual({
      groupId,
      sessionTimeout: 30_000,
      heartbeatInterval: 3_000,
      maxWaitTimeInMs: 500,
      allowAutoTopicCreation: false,
      ...passed,
    })
    expect(retry).toMatchObject({ retries: 12, maxRetryTime: 1_500, ...factors })
    expect(await retry?.restartOnFailure?.(new Error('any'))).toBe(false)
    await source.close()
  })

  it.each([
    ['none', {}],
    ['some', { consumerConfig: UNSET }],
  ])(
    'of kafkajs have no undefined, where %s are given: it computes with one, and tries again without a pause',
    async (_what, given) => {
      const kafka = new ScriptedKafka()
      kafka.topics.push('t')
      const { source } = kafkaSource(kafka, { topics: ['t'], group: uniqueName('group'), ...given })
      await source.open(new RecordingIntake())
      await source.close()
      const { retry, ...config } = kafka.newest.config
      expect(Object.entries({ ...config, ...retry }).filter(([, value]) => value === undefined)).toEqual([])
    },
  )

  it('refuse two sets of topics in one group of this process, while the first runs', async () => {
    const groupId = uniqueName('group')
    const open = (topics: string[], more: object = {}): ReturnType<typeof kafkaSource> =>
      kafkaSource(new ScriptedKafka(), { topics, group: groupId, ...more })
    const first = open(['a', 'b'])
    const second = open(['b', 'a', 'b'])
    expect(() => open(['a'])).toThrow('expected one set of topics for one group, got a where')
    expect(() => open(['a', 'b'], retryOn({ delayMs: 1, topic: 'r' }))).toThrow('got a, b, r where')
    await first.source.close()
    await first.source.close()
    expect(() => open(['a'])).toThrow(ConfigError)
    await second.source.close()
    await open(['a']).source.close()
  })

  it('refuse two members of one group on one client, and allow two groups', async () => {
    const [kafka, groupId] = [new ScriptedKafka(), uniqueName('group')]
    const first = kafkaSource(kafka, { topics: ['t'], group: groupId })
    expect(() => kafkaSource(kafka, { topics: ['t'], group: groupId })).toThrow(
      'expected a client of its own for each member',
    )
    const other = kafkaSource(kafka, { topics: ['t'], group: uniqueName('group') })
    const second = kafkaSource(new ScriptedKafka(), { topics: ['t'], group: groupId })
    await first.source.close()
    const again = kafkaSource(kafka, { topics: ['t'], group: groupId })
    await Promise.all([other, second, again].map(({ source }) => source.close()))
  })

  it('refuse a retry topic that another group of this process consumes', async () => {
    const first = withRetry(['t'], 'r')
    expect(() => withRetry(['r'], 'x')).toThrow('expected no retry topic of another group, got r, where messages of')
    expect(() => withRetry(['t'], 'r')).toThrow('expected no retry topic of another group, got r, where messages of')
    expect(() => withRetry(['u'], 't')).toThrow('retry.topics: expected topics that nobody else consumes, got t, which')
    const second = withRetry(['t'], 'x')
    await Promise.all([first, second].map(({ source }) => source.close()))
  })
})

describe('the first start', () => {
  let cluster: Cluster
  openedOnce(Cluster, (made) => (cluster = made))
  const consumer = defineConsumer({ name: 'start', store: memoryStore(), handle: () => {} })

  it('without a broker is refused with what to do, and the group can be tried again', async () => {
    const broker = `127.0.0.1:${await freePort()}`
    const kafka = new Kafka({ brokers: [broker], logLevel: logLevel.NOTHING, retry: { retries: 1 } })
    const groupId = uniqueName('group')
    await expect(runKafka(kafka, consumer, { topics: ['t'], group: groupId })).rejects.toMatchObject({
      code: 'BROKER_UNREACHABLE',
      message: expect.stringMatching(new RegExp(`${broker}.*Check that the brokers`, 's')),
    })
    await expect(runKafka(kafka, consumer, { topics: ['other'], group: groupId })).rejects.toMatchObject({
      code: 'BROKER_UNREACHABLE',
    })
  })

  it('finds the broker that answers, also with a client that never tries again', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const brokers = [`127.0.0.1:${await freePort()}`, ...cluster.brokers]
    const kafka = new Kafka({ brokers, logLevel: logLevel.NOTHING, retry: { retries: 0 } })
    await cluster.send(topic, [{ value: '{}', headers: { 'message-id': '1' } }, 'no json'])
    await using running = await runKafka(kafka, consumer, { ...FAST, topics: [topic], group: groupId })
    await cluster.untilCommitted(groupId, topic, [2])
    expect(running.health()).toMatchObject({ live: true, ready: true })
    const found = await doctor(consumer, kafkaSubscription(kafka, { topics: [topic], group: groupId }))
    expect(found.findings.map(({ check }) => check)).toContain('kafka.group')
  })

  it('on a topic that does not exist is refused by its name, and none is created', async () => {
    const missing = [uniqueName('missing'), uniqueName('missing')]
    const options = { topics: missing, group: uniqueName('group') }
    await expect(runKafka(cluster.client(), consumer, options)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      problems: missing.map((topic) => `topics: ${topic} does not exist on the cluster`),
    })
    expect((await cluster.admin.listTopics()).filter((topic) => missing.some((one) => topic.startsWith(one)))).toEqual(
      [],
    )
  })

  it('with settings that the broker refuses is refused', async () => {
    const topic = await cluster.topic()
    const tooShort = { sessionTimeout: 300, heartbeatInterval: 100, maxWaitTimeInMs: 100 }
    const running = runKafka(cluster.client(), consumer, {
      topics: [topic],
      group: uniqueName('group'),
      consumerConfig: tooShort,
    })
    await expect(running).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' })
  })

  it('with a client that never tries again consumes, commits and moves dead letters all the same (K16)', async () => {
    const [topic, groupId] = [await cluster.topic(2), uniqueName('group')]
    const kafka = new Kafka({ brokers: cluster.brokers, logLevel: logLevel.NOTHING, retry: { retries: 0 } })
    await cluster.send(topic, [{ value: '{}', headers: { 'message-id': '1' } }, 'no json'])
    await using running = await runKafka(kafka, consumer, { ...FAST, topics: [topic], group: groupId })
    await cluster.untilCommitted(groupId, topic, [2, -1])
    expect(await cluster.read(`${topic}.dead-letter`, 1)).toHaveLength(1)
    expect(running.health()).toMatchObject({ live: true, ready: true })
  })
})

describe('two consumers of different names in one group of a process', () => {
  it('are refused, as long as the first one runs', async () => {
    const options = { topics: ['t'], group: uniqueName('group') }
    const first = kafkaSource(new ScriptedKafka(), options, 'sms')
    expect(() => kafkaSource(new ScriptedKafka(), options, 'mail')).toThrow(
      expect.objectContaining({ code: 'CONSUMER_NAME_TAKEN', message: expect.stringMatching(/"mail".*"sms"/) }),
    )
    const second = kafkaSource(new ScriptedKafka(), options, 'sms')
    await Promise.all([first.source.close(), second.source.close()])
    await kafkaSource(new ScriptedKafka(), options, 'mail').source.close()
  })
})
