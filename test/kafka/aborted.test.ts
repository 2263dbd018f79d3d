import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { Kafka, type ConsumerRunConfig } from 'kafkajs'
import { eachBatch, eachMessage, kafkaSubscription, runKafka, type KafkaLike } from '../../adapters/kafkajs/index.ts'
import type { PgTransaction } from '../../adapters/pg/index.ts'
import { defineConsumer, type Consumer, type ObserverEvent } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import type { CheckedConsumer } from '../../src/internal.ts'
import { eventually } from '../kit/eventually.ts'
import { uniqueName } from '../kit/namespace.ts'
import { openedOnce } from '../kit/opened.ts'
import { Watching } from '../kit/recording-intake.ts'
import { SERVER_WITHIN_MS } from '../kit/servers/server.ts'
import { newPlace } from '../pg/support.ts'
import { itOnKafkajs } from './client/it-on.ts'
import { Cluster, FAST } from './kit.ts'
import { OwnConsumer, type Payload } from './own-consumer.ts'
import { placesOf, readAll, valuesOf } from './replay-kit.ts'
import { MARKER_LIKE, Transactions } from './transactions.ts'
import { closedAfterEach } from '../kit/after-each.ts'

const CHECKED: CheckedConsumer = {
  strategy: 'lease',
  retentionMs: 604_800_000,
  onBeyondRetention: 'run',
  leaseMs: 30_000,
  longestRunMs: 65_000,
  maxAttempts: 5,
}

/** The end of the partition, in no transaction. */
const LAST = 'zzz'

let cluster: Cluster
/** What two and four producers wrote in transactions that overlap, and one more with keys like those of markers. */
let topic: string
let transactions: Transactions
let high: number
const ends = closedAfterEach()

openedOnce(Cluster, (made) => (cluster = made))
beforeAll(async () => {
  topic = await cluster.topic()
  transactions = await Transactions.open(cluster, topic, 5)
  await twoProducers()
  await keysLikeMarkers()
  for (let round = 0; round < 4; round++) await fourProducers(round)
  await cluster.send(topic, [{ value: JSON.stringify({ id: LAST }) }])
  transactions.committed.push(LAST)
  high = Number((await cluster.highs(topic))[0]?.high)
}, SERVER_WITHIN_MS)
afterAll(() => transactions[Symbol.asyncDispose]())

/** The transaction that begins later ends first: the broker lists it first. */
async function twoProducers(): Promise<void> {
  for (const round of [0, 1]) {
    const first = await transactions.begin(0)
    await first.send(`first-${round}`)
    const second = await transactions.begin(1)
    await second.send(`second-${round}`)
    await second.end('abort')
    await first.send(`first-again-${round}`)
    await first.end('abort')
    const third = await transactions.begin(1)
    await third.send(`third-${round}`)
    await third.end('commit')
  }
}

async function keysLikeMarkers(): Promise<void> {
  const aborted = await transactions.begin(4)
  await aborted.send('like-a-marker', MARKER_LIKE)
  await aborted.send('after-it')
  await aborted.end('abort')
  const committed = await transactions.begin(4)
  await committed.send('like-a-marker-too', MARKER_LIKE)
  await committed.send('after-that')
  await committed.end('commit')
}

/** Two of five transactions are aborted. */
async function fourProducers(round: number): Promise<void> {
  const open = await Promise.all([0, 1, 2, 3].map((producer) => transactions.begin(producer)))
  for (const part of ['a', 'b']) {
    for (const [index, transaction] of open.entries()) await transaction.send(`${round}-${index}-${part}`)
  }
  const inTurn = round % 2 === 0 ? open.toReversed() : open
  for (const [index, transaction] of inTurn.entries()) {
    await transaction.end((round * 4 + index) % 5 < 2 ? 'abort' : 'commit')
  }
}

const committedIds = (): readonly string[] => transactions.committed.toSorted()

/** The broker sends one or two batches with each fetch, so that many begin in the middle of a transaction. */
const SMALL_FETCHES = { maxBytesPerPartition: 200 }

describe.each([
  ['large', {}],
  ['small', SMALL_FETCHES],
])('with %s fetches', (_, fetches) => {
  it('runKafka handles no message of an aborted transaction and all others, and its watermark passes them (K22)', async () => {
    const [groupId, handled] = [uniqueName('group'), [] as string[]]
    const consumer = defineConsumer<Payload>({
      name: 'sms',
      id: ({ payload }) => payload.id,
      store: memoryStore(),
      handle: ({ payload }) => void handled.push(payload.id),
    })
    const running = await runKafka(cluster.kafka(), consumer, {
      ...FAST,
      topics: [topic],
      group: groupId,
      consumerConfig: { ...FAST.consumerConfig, ...fetches },
    })
    ends.push(() => running.stop({ deadlineMs: 500 }))
    await cluster.untilCommitted(groupId, topic, [high])
    expect(handled.toSorted()).toEqual(committedIds())
  })

  it.each(['with the option kafka', 'without it'])(
    'eachMessage handles no message of an aborted transaction and all others, %s (K22)',
    async (kind) => {
      const [groupId, handled] = [uniqueName('group'), [] as string[]]
      const definition = defineConsumer<Payload>({
        name: 'sms',
        id: ({ payload }) => payload.id,
        store: memoryStore(),
        handle: ({ payload }) => void handled.push(payload.id),
      })
      const onMessage = eachMessage(definition, {
        group: groupId,
        ...(kind === 'without it' ? {} : { kafka: cluster.client() }),
      })
      const run = { eachMessage: onMessage }
      const own = await OwnConsumer.run(cluster, { topics: [topic], groupId, run, ...fetches })
      ends.push(async () => Promise.all([own[Symbol.asyncDispose](), onMessage.stop({ deadlineMs: 200 })]))
      await eventually(async () => handled.includes(LAST))
      expect(handled.toSorted()).toEqual(committedIds())
    },
  )

  it('eachBatch handles no message of an aborted transaction and all others (K22)', async () => {
    const [groupId, handled] = [uniqueName('group'), [] as string[]]
    const definition = defineConsumer<Payload>({
      name: 'sms',
      id: ({ payload }) => payload.id,
      store: memoryStore(),
      handle: ({ payload }) => void handled.push(payload.id),
    })
    const onBatch = eachBatch(definition, { group: groupId, kafka: cluster.client() })
    const run = { eachBatch: onBatch, eachBatchAutoResolve: false }
    const own = await OwnConsumer.run(cluster, { topics: [topic], groupId, run, ...fetches })
    ends.push(async () => Promise.all([own[Symbol.asyncDispose](), onBatch.stop({ deadlineMs: 200 })]))
    await eventually(async () => handled.includes(LAST))
    expect(handled.toSorted()).toEqual(committedIds())
  })

  it('stored offsets pass the messages of aborted transactions without their effects (K22)', async () => {
    const place = await newPlace()
    const groupId = uniqueName('group')
    const consumer = defineConsumer<unknown, unknown, PgTransaction>({
      name: 'sms',
      store: await place.newOffsets(),
      handle: ({ payload, tx }) => place.write(tx, (payload as Payload).id),
    })
    const running = await runKafka(cluster.kafka(), consumer, {
      ...FAST,
      topics: [topic],
      group: groupId,
      consumerConfig: { ...FAST.consumerConfig, ...fetches },
    })
    ends.push(async () => {
      await running.stop({ deadlineMs: 500 })
      await place.close()
    })
    await cluster.untilCommitted(groupId, topic, [high])
    const { rows } = await place.pool.query<{ name: string }>(`select name from ${place.schema}.effect order by name`)
    expect(rows.map(({ name }) => name).toSorted()).toEqual(committedIds())
  })

  it('a replay reads no message of an aborted transaction and all others (K22)', async () => {
    const reader = await placesOf(cluster, topic, { consumerConfig: { ...FAST.consumerConfig, ...fetches } }).open(
      topic,
    )
    const values = valuesOf(await readAll(reader, await reader.range({})))
    expect(values.map((value) => (JSON.parse(value) as Payload).id).toSorted()).toEqual(committedIds())
  })
})

/** kafkajs as a bundler or a second installation brings it: another copy than the one that is loaded here. */
function otherCopy(): Kafka {
  let copy: typeof import('kafkajs') | undefined
  jest.isolateModules(() => {
    copy = jest.requireActual('kafkajs')
  })
  if (copy === undefined) throw new Error('kafkajs was not loaded')
  expect(copy.Kafka).not.toBe(Kafka)
  return new copy.Kafka({ brokers: cluster.brokers, logLevel: copy.logLevel.NOTHING, retry: { initialRetryTime: 50 } })
}

const definitionOf = (handled: string[], observe: (event: ObserverEvent) => void): Consumer =>
  defineConsumer<Payload>({
    name: 'sms',
    id: ({ payload }) => payload.id,
    store: memoryStore(),
    handle: ({ payload }) => void handled.push(payload.id),
    observe,
  })

/** A consumer of that copy. */
async function consume(other: Kafka, groupId: string, run: ConsumerRunConfig): Promise<void> {
  const consumer = other.consumer({ groupId, maxWaitTimeInMs: 100, retry: { initialRetryTime: 50 } })
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  await consumer.run(run)
  ends.push(() => consumer.disconnect())
}

describe('another copy of kafkajs', () => {
  it('is found through the option kafka of a drop-in', async () => {
    const [groupId, handled, other] = [uniqueName('group'), [] as string[], otherCopy()]
    const onBatch = eachBatch(
      definitionOf(handled, () => {}),
      { group: groupId, kafka: other },
    )
    ends.push(() => onBatch.stop({ deadlineMs: 200 }))
    await consume(other, groupId, { eachBatch: onBatch, eachBatchAutoResolve: false })
    await eventually(async () => handled.includes(LAST))
    expect(handled.toSorted()).toEqual(committedIds())
  })

  it('has its transactions refused by a drop-in without the option kafka, unless that is told not to check', async () => {
    const [groupId, handled, watching] = [uniqueName('group'), [] as string[], new Watching()]
    const onMessage = eachMessage(definitionOf(handled, watching.observe), { group: groupId })
    ends.push(() => onMessage.stop({ deadlineMs: 200 }))
    await consume(otherCopy(), groupId, { eachMessage: onMessage })
    await watching.untilTold('fetch-unchecked')
    expect(handled).toEqual([])

    const [otherGroup, all] = [uniqueName('group'), [] as string[]]
    const unchecked = eachMessage(
      definitionOf(all, () => {}),
      { group: otherGroup, checkFetches: false },
    )
    ends.push(() => unchecked.stop({ deadlineMs: 200 }))
    await consume(otherCopy(), otherGroup, { eachMessage: unchecked })
    await eventually(async () => all.includes(LAST))
    expect(all).toEqual(expect.arrayContaining([...committedIds()]))
  })

  // It is given one.
  itOnKafkajs('is checked by runKafka, but not inside an object that is no client of kafkajs', async () => {
    const other = otherCopy()
    const [groupId, handled, watching] = [uniqueName('group'), [] as string[], new Watching()]
    const running = await runKafka(
      other,
      definitionOf(handled, () => {}),
      { ...FAST, topics: [topic], group: groupId },
    )
    ends.push(() => running.stop({ deadlineMs: 500 }))
    await eventually(async () => handled.includes(LAST))
    expect(handled.toSorted()).toEqual(committedIds())

    const [hiddenGroup, none] = [uniqueName('group'), [] as string[]]
    const hidden: KafkaLike = {
      consumer: (config) => (other as KafkaLike).consumer(config),
      producer: (config) => other.producer(config),
      admin: (config) => other.admin(config),
    }
    const refusing = await runKafka(hidden, definitionOf(none, watching.observe), {
      ...FAST,
      topics: [topic],
      group: hiddenGroup,
    })
    ends.push(() => refusing.stop({ deadlineMs: 500 }))
    await watching.untilTold('fetch-unchecked')
    expect([none, await cluster.committed(hiddenGroup, topic)]).toEqual([[], [-1]])

    const reader = await placesOf(cluster, topic, {}, hidden).open(topic)
    await expect(readAll(reader, await reader.range({}))).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    const { checkup } = kafkaSubscription(hidden, { topics: [topic], group: hiddenGroup })
    const findings = await checkup?.(CHECKED)
    expect(findings).toEqual(
      expect.arrayContaining([expect.objectContaining({ check: 'kafka.client', verdict: 'weaker' })]),
    )
  })
})

describe("a consumer of the user's own", () => {
  it('that reads uncommitted messages goes on to get them', async () => {
    const [groupId, handled] = [uniqueName('group'), [] as string[]]
    const definition = defineConsumer<Payload>({
      name: 'sms',
      id: ({ payload }) => payload.id,
      store: memoryStore(),
      handle: ({ payload }) => void handled.push(payload.id),
    })
    const onBatch = eachBatch(definition, { group: groupId })
    const run = { eachBatch: onBatch, eachBatchAutoResolve: false }
    const own = await OwnConsumer.run(cluster, { topics: [topic], groupId, run, readUncommitted: true })
    ends.push(async () => Promise.all([own[Symbol.asyncDispose](), onBatch.stop({ deadlineMs: 200 })]))
    const all = [...transactions.committed, ...transactions.aborted].toSorted()
    await eventually(async () => handled.length >= all.length)
    expect(handled.toSorted()).toEqual(all)
  })
})
