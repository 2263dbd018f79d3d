import { RecordingIntake } from '../../kit/recording-intake.ts'
import { afterEach, describe, expect, it } from '@jest/globals'
import {
  KafkaJSConnectionError,
  KafkaJSNonRetriableError,
  KafkaJSNumberOfRetriesExceeded,
  KafkaJSRequestTimeoutError,
} from 'kafkajs'
import { kafkaSource } from '../../../adapters/kafkajs/client.ts'
import type { AdminLike } from '../../../adapters/kafkajs/kafkajs-like.ts'
import type { Source } from '../../../src/internal.ts'
import { uniqueName } from '../../kit/namespace.ts'
import { ScriptedKafka, type ScriptedConsumer } from '../../kafka/scripted.ts'

const started: Source[] = []
afterEach(async () => {
  await Promise.all(started.splice(0).map((source) => source.close()))
})

function sourceOn(kafka: ScriptedKafka): Source {
  const { source } = kafkaSource(kafka, { topics: ['t'], group: uniqueName('group') })
  started.push(source)
  return source
}

function answer(type: string, retriable: boolean): Error {
  return Object.assign(new Error(type), { type, retriable })
}

/** As kafkajs tells what the controller answered about each topic. */
function several(...errors: readonly Error[]): Error {
  return Object.assign(new Error('Topic creation errors'), { name: 'KafkaJSAggregateError', errors })
}

/** Changes what the admin client does. */
function withAdmin(kafka: ScriptedKafka, change: (usual: AdminLike) => Partial<AdminLike>): ScriptedKafka {
  const usual = kafka.admin.bind(kafka)
  kafka.admin = () => {
    const admin = usual()
    return { ...admin, ...change(admin) }
  }
  return kafka
}

/** Changes what each consumer does. */
function withConsumer(kafka: ScriptedKafka, change: (consumer: ScriptedConsumer) => void): ScriptedKafka {
  const usual = kafka.consumer.bind(kafka)
  kafka.consumer = (config) => {
    const consumer = usual(config)
    change(consumer)
    return consumer
  }
  return kafka
}

function kafkaWith(...topics: string[]): ScriptedKafka {
  const kafka = new ScriptedKafka()
  kafka.topics.push(...topics)
  return kafka
}

it('a refused topic is told with the reason, which kafkajs keeps in a list', async () => {
  const refused = several(answer('INVALID_REPLICATION_FACTOR', false), answer('INVALID_REPLICATION_FACTOR', false))
  const kafka = withAdmin(kafkaWith('t'), () => ({ createTopics: () => Promise.reject(refused) }))
  await expect(sourceOn(kafka).open(new RecordingIntake())).rejects.toThrow(
    'could not join: Topic creation errors (INVALID_REPLICATION_FACTOR)',
  )
})

describe('right after topics were created', () => {
  it('they are looked for again: not every broker knows them yet (K16)', async () => {
    let looks = 0
    const kafka = withAdmin(kafkaWith('t', 't.dead-letter'), (usual) => ({
      listTopics: () => (++looks < 3 ? Promise.resolve([]) : usual.listTopics()),
    }))
    await sourceOn(kafka).open(new RecordingIntake())
    expect(looks).toBeGreaterThanOrEqual(3)
  })

  it('they are looked for again if no broker answered, which kafkajs tells by a TypeError', async () => {
    let looks = 0
    const noMetadata = new TypeError(
      "Cannot destructure property 'topicMetadata' of '(intermediate value)' as it is null.",
    )
    const kafka = withAdmin(kafkaWith('t', 't.dead-letter'), (usual) => ({
      listTopics: () => (++looks < 3 ? Promise.reject(noMetadata) : usual.listTopics()),
    }))
    await sourceOn(kafka).open(new RecordingIntake())
    expect(looks).toBeGreaterThanOrEqual(3)
  })

  it('they are subscribed to again (K16)', async () => {
    let tries = 0
    const kafka = withConsumer(kafkaWith('t', 't.dead-letter'), (consumer) => {
      consumer.subscribe = async () => {
        if (++tries < 3) throw answer('UNKNOWN_TOPIC_OR_PARTITION', true)
      }
    })
    await sourceOn(kafka).open(new RecordingIntake())
    expect([tries, kafka.consumers.length]).toEqual([3, 1])
  })

  it('their leaders are not waited for, which kafkajs cannot (K16)', async () => {
    const kafka = withAdmin(kafkaWith('t'), (usual) => ({
      createTopics: (options) => {
        if (options.waitForLeaders) throw answer('UNKNOWN_TOPIC_OR_PARTITION', true)
        return usual.createTopics(options)
      },
    }))
    const intake = new RecordingIntake()
    await sourceOn(kafka).open(intake)
    expect(intake.told('dead-letter-topic')).toEqual(['t.dead-letter was created'])
  })
})

describe('while a broker dies', () => {
  const gone = new KafkaJSConnectionError('connect ECONNREFUSED', { code: 'ECONNREFUSED' })
  // kafkajs types its constructor without a text, and it throws without one.
  const notFound = Object.assign(new Error('no coordinator'), {
    name: 'KafkaJSGroupCoordinatorNotFound',
    retriable: false,
  })
  const errors: readonly (readonly [string, Error])[] = [
    ['a refused connection', gone],
    ['all tries of kafkajs spent', new KafkaJSNumberOfRetriesExceeded(gone, { retryCount: 5, retryTime: 1 })],
    ['a coordinator that is not found', notFound],
    ['a time-out', new KafkaJSRequestTimeoutError('Request Fetch timed out')],
    ['one topic not created, because the controller moves', several(answer('NOT_CONTROLLER', true))],
  ]

  it.each(errors)('and another answers, the start goes on after %s', async (_, error) => {
    const kafka = kafkaWith('t', 't.dead-letter')
    const join = kafka.onRun
    kafka.onRun = (consumer) => {
      if (kafka.consumers.length < 3) throw error
      return join(consumer)
    }
    const source = sourceOn(kafka)
    await source.open(new RecordingIntake())
    expect(kafka.consumers).toHaveLength(3)
  })

  it('and none answers any more, the start gives up at once', async () => {
    const kafka = kafkaWith('t', 't.dead-letter')
    let dead = false
    withAdmin(kafka, (usual) => ({
      connect: async () => {
        if (dead) throw new KafkaJSNonRetriableError(gone)
        return usual.connect()
      },
    }))
    kafka.onRun = () => {
      dead = true
      throw gone
    }
    await expect(sourceOn(kafka).open(new RecordingIntake())).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' })
    expect(kafka.consumers).toHaveLength(1)
  })

  it('is no excuse for what another try cannot change', async () => {
    const kafka = kafkaWith('t', 't.dead-letter')
    const refusal = new KafkaJSNonRetriableError('Invalid partition assigner')
    kafka.onRun = () => {
      throw refusal
    }
    await expect(sourceOn(kafka).open(new RecordingIntake())).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' })
    expect(kafka.consumers).toHaveLength(1)
  })
})

describe('while the coordinator of the group loads', () => {
  it.each(['GROUP_LOAD_IN_PROGRESS', 'NOT_COORDINATOR_FOR_GROUP'])(
    'and answers %s another consumer is built, until one has joined (K15)',
    async (type) => {
      const kafka = kafkaWith('t', 't.dead-letter')
      const join = kafka.onRun
      kafka.onRun = (consumer) => {
        if (kafka.consumers.length < 3) throw answer(type, true)
        return join(consumer)
      }
      const source = sourceOn(kafka)
      await source.open(new RecordingIntake())
      expect(kafka.consumers).toHaveLength(3)
      expect(source.health().ready).toBe(true)
    },
  )

  it('is no excuse for another refusal', async () => {
    const kafka = kafkaWith('t', 't.dead-letter')
    kafka.onRun = () => {
      throw answer('GROUP_AUTHORIZATION_FAILED', false)
    }
    await expect(sourceOn(kafka).open(new RecordingIntake())).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' })
    expect(kafka.consumers).toHaveLength(1)
  })
})

/** How often the ends of the topic were asked for before the group was joined. */
async function askedBeforeTheJoin(committed: bigint, refusals: readonly string[]): Promise<number> {
  const kafka = new ScriptedKafka()
  kafka.topics.push('t')
  kafka.committed.set('t/0', committed)
  let asked = 0
  withAdmin(kafka, (usual) => ({
    fetchTopicOffsets: (topic) => {
      const refusal = refusals[asked++]
      return refusal === undefined ? usual.fetchTopicOffsets(topic) : Promise.reject(answer(refusal, true))
    },
  }))
  let before = 0
  kafka.onRun = (consumer) => {
    before = asked
    consumer.join({ t: [0] })
  }
  await sourceOn(kafka).open(new RecordingIntake())
  return before
}

describe('a start on a topic that was just created', () => {
  it('joins when its broker has made the partitions: a fetch that meets one too early would be a join (K14)', async () => {
    expect(await askedBeforeTheJoin(-1n, ['NOT_LEADER_FOR_PARTITION', 'NOT_LEADER_FOR_PARTITION'])).toBe(3)
  })

  it('does not wait for a leader that is gone, nor ask where the group has committed before', async () => {
    expect(await askedBeforeTheJoin(-1n, ['LEADER_NOT_AVAILABLE', 'LEADER_NOT_AVAILABLE'])).toBe(1)
    expect(await askedBeforeTheJoin(5n, [])).toBe(0)
  })
})
