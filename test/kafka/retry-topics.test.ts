import { openedOnce } from '../kit/opened.ts'
import { eventually } from '../kit/eventually.ts'
import { RecordingIntake, Watching } from '../kit/recording-intake.ts'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { ConfigResourceTypes } from 'kafkajs'
import { runKafka, type KafkaOptions } from '../../adapters/kafkajs/index.ts'
import { kafkaSource } from '../../adapters/kafkajs/client.ts'
import { defineConsumer, type ConsumerSettings, type HandlerContext, type Running } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { uniqueName } from '../kit/namespace.ts'
import { gate } from '../kit/rig.ts'
import { failingOn } from './failing-assigner.ts'
import { itOnKafkajs } from './client/it-on.ts'
import { Cluster, FAST } from './kit.ts'
import { ScriptedKafka } from './scripted.ts'

let cluster: Cluster
const started: Running[] = []

openedOnce(Cluster, (made) => (cluster = made))
afterEach(async () => {
  await Promise.all(started.splice(0).map((running) => running.stop({ deadlineMs: 500 })))
  await cluster.closeSources()
})

const HOUR_MS = 3_600_000

/** As the library would have copied it, due in so many milliseconds. */
function copy(
  value: string,
  dueInMs: number,
  timestamp = Date.now(),
): { value: string; headers: object; timestamp: string } {
  return { value, headers: { 'consume-once-not-before': String(Date.now() + dueInMs) }, timestamp: String(timestamp) }
}

async function openHeld(
  copies: readonly { value: string; headers?: object; timestamp?: string }[],
  delayMs: number,
): Promise<{ topic: string; retry: string; groupId: string; options: KafkaOptions }> {
  const [topic, retry, groupId] = [await cluster.topic(), await cluster.topic(), uniqueName('group')]
  await cluster.send(retry, copies as never)
  return {
    topic,
    retry,
    groupId,
    options: { topics: [topic], group: groupId, retry: { topics: [{ delayMs, topic: retry }] } },
  }
}

describe('a message on a retry topic', () => {
  it('comes when it is due, after those before it, and is in no memory meanwhile', async () => {
    const { topic, retry, groupId, options } = await openHeld([{ value: 'first' }], HOUR_MS)
    const { source, intake } = await cluster.open(options, RecordingIntake.settling())
    await cluster.untilCommitted(groupId, retry, [1])
    // Not before the group is joined, which may take as long as the wait.
    const copies = [copy('past', -10), copy('later', 3_000), copy('behind', -10)]
    await cluster.send(retry, copies as never)
    await cluster.untilCommitted(groupId, retry, [2])
    expect(intake.positions).toEqual(['0@0', '0@1'])
    const held = source.health().partitions?.find(({ name }) => name === `${retry}/0`)
    expect(held).toMatchObject({ inFlight: 0, bytesInFlight: 0, watermark: '2', lag: 2, paused: ['not-due'] })

    await cluster.send(topic, ['other'])
    await intake.untilDelivered(3)
    expect(intake.deliveries[2]?.message.destination).toBe(topic)

    await intake.untilDelivered(5)
    const notBefore = Number(String(intake.deliveries[3]?.message.headers['consume-once-not-before']))
    expect(Date.now()).toBeGreaterThanOrEqual(notBefore)
    expect(intake.deliveries.slice(3).map(({ message }) => String(message.value))).toEqual(['later', 'behind'])
    await cluster.untilCommitted(groupId, retry, [4])
    expect(source.health().partitions?.find(({ name }) => name === `${retry}/0`)?.paused).toEqual([])
  })

  it("waits no longer than its topic's delay, whatever header and timestamp say, and all that wait do so at once", async () => {
    const skewed = Date.now() + 50 * 60_000
    const copies = Array.from({ length: 5 }, (_, index) => copy(`${index}`, HOUR_MS, skewed))
    const { options } = await openHeld(copies, 1_000)
    const openedAt = performance.now()
    const { intake } = await cluster.open(options, RecordingIntake.settling())
    await intake.untilDelivered(5)
    expect(performance.now() - openedAt).toBeGreaterThanOrEqual(1_000)
    // One wait, and maybe a second one that begins when the first has ended.
    expect(intake.told('partition-paused').length).toBeLessThanOrEqual(2)
  })

  it.each([
    ['a number', 'soon'],
    ['there', undefined],
  ])('whose time is not %s is due at once', async (_what, time) => {
    const { options } = await openHeld(
      [{ value: 'v', headers: time === undefined ? {} : { 'consume-once-not-before': time } }],
      HOUR_MS,
    )
    const { intake } = await cluster.open(options, RecordingIntake.settling())
    await intake.untilDelivered(1)
    expect(intake.told('partition-paused')).toEqual([])
  })

  // An assigner crashes it.
  itOnKafkajs('waits on through a rebalance and through the end of its consumer, and comes once', async () => {
    const { topic, retry, groupId, options } = await openHeld([copy('v', 4_000)], HOUR_MS)
    const consumer = { partitionAssigners: [failingOn(3)] }
    const { intake } = await cluster.open({ ...options, consumerConfig: consumer }, RecordingIntake.settling())
    await intake.untilTold('partition-paused')
    await cluster.admin.createPartitions({ topicPartitions: [{ topic, count: 2 }] })
    await intake.untilTold('group-joined', 2)
    await intake.untilTold('partition-paused', 2)
    await cluster.admin.createPartitions({ topicPartitions: [{ topic, count: 3 }] })
    await intake.untilTold('rebuilt')
    await intake.untilTold('partition-paused', 3)
    expect(intake.positions).toEqual([])
    await intake.untilDelivered(1)
    expect(Date.now()).toBeGreaterThanOrEqual(
      Number(String(intake.at('0@0').message.headers['consume-once-not-before'])),
    )
    await cluster.untilCommitted(groupId, retry, [1])
    expect(intake.positions).toEqual(['0@0'])
  })

  it('that one member held comes to the member that has its partition when it is due', async () => {
    const { retry, groupId, options } = await openHeld([copy('v', 3_000)], HOUR_MS)
    const first = await cluster.open(options, RecordingIntake.settling())
    await first.intake.untilTold('partition-paused')
    const second = await cluster.open(options, RecordingIntake.settling())
    await first.source.close()
    await second.intake.untilDelivered(1)
    expect(first.intake.positions).toEqual([])
    expect(Date.now()).toBeGreaterThanOrEqual(
      Number(String(second.intake.at('0@0').message.headers['consume-once-not-before'])),
    )
    await cluster.untilCommitted(groupId, retry, [1])
  })

  it('is taken where the last one ended: a gap in between is a skip and no wait', async () => {
    const kafka = new ScriptedKafka()
    kafka.topics.push('t', 'r')
    kafka.committed.set('r/0', 0n)
    kafka.bounds.set('r/0', { low: 0n, high: 9n })
    kafka.onRun = (consumer) => consumer.join({ r: [0] })
    const retry = { topics: [{ delayMs: HOUR_MS, topic: 'r' }] }
    const { source } = kafkaSource(kafka, { topics: ['t'], group: uniqueName('group'), retry })
    const intake = new RecordingIntake()
    await source.open(intake)
    const consumer = kafka.newest
    const later = { 'consume-once-not-before': String(Date.now() + HOUR_MS) }
    await consumer.fetch('r/0', 0, [0, 1, 2, 3], undefined, { 2: later })
    expect(intake.positions).toEqual(['0@0', '0@1'])
    expect(consumer.resolved).toEqual(['r/0@1'])
    expect([...consumer.pausedNow]).toEqual(['r/0'])
    await consumer.fetch('r/0', 4, [4])
    expect(consumer.seeks).toEqual(['r/0@2'])
    expect(intake.told('offset-skipped')).toEqual(['r/0: expected 2, got 4'])
    await source.close()
  })

  it('leaves no timer behind when its source is closed', async () => {
    const kafka = new ScriptedKafka()
    kafka.topics.push('t', 'r')
    kafka.committed.set('r/0', 0n)
    kafka.onRun = (consumer) => consumer.join({ r: [0] })
    const retry = { topics: [{ delayMs: HOUR_MS, topic: 'r' }] }
    const { source } = kafkaSource(kafka, { topics: ['t'], group: uniqueName('group'), retry })
    const [set, clear] = [jest.spyOn(globalThis, 'setTimeout'), jest.spyOn(globalThis, 'clearTimeout')]
    const left = (): number => {
      const cleared = new Set(clear.mock.calls.map(([timer]) => timer))
      const long = set.mock.results.filter((_, call) => Number(set.mock.calls[call]?.[1]) > HOUR_MS / 2)
      return long.filter(({ value }) => !cleared.has(value as NodeJS.Timeout)).length
    }
    await source.open(new RecordingIntake())
    const later = { 'consume-once-not-before': String(Date.now() + HOUR_MS) }
    await kafka.newest.fetch('r/0', 0, [0], undefined, { 0: later })
    expect(left()).toBe(1)
    kafka.newest.join({ r: [0] })
    expect(left()).toBe(0)
    await kafka.newest.fetch('r/0', 0, [0], undefined, { 0: later })
    expect(left()).toBe(1)
    await source.stopIntake()
    expect(left()).toBe(0)
    await source.close()
    jest.restoreAllMocks()
  })
})

interface Payload {
  readonly id: string
}

interface Attempt {
  readonly id: string
  readonly attempt: number
  readonly topic: string
  readonly key: string
  readonly at: number
}

interface Job {
  readonly running: Running
  readonly watching: Watching
  readonly attempts: readonly Attempt[]
}

async function start(
  options: KafkaOptions,
  handle: (context: HandlerContext<Payload>) => unknown,
  settings: Partial<ConsumerSettings<Payload, Payload, never>> = {},
): Promise<Job> {
  const watching = new Watching()
  const attempts: Attempt[] = []
  const consumer = defineConsumer<Payload>({
    name: 'sms',
    id: ({ payload }) => payload.id,
    store: memoryStore(),
    ...settings,
    handle: (context) => {
      const { payload, attempt, message, idempotencyKey } = context
      const at = performance.now()
      attempts.push({ id: payload.id, attempt, topic: message.destination, key: idempotencyKey, at })
      return handle(context)
    },
    observe: watching.observe,
  })
  const running = await runKafka(cluster.kafka(), consumer, { ...FAST, ...options })
  started.push(running)
  return { running, watching, attempts }
}

const body = (id: string): string => JSON.stringify({ id })

function fail(): never {
  throw new Error('card declined')
}

describe('a consumer with retry topics', () => {
  it('tries a message again after each delay, as the same message, while the others flow [T43]', async () => {
    const [topic, groupId] = [await cluster.topic(2), uniqueName('group')]
    const retry = { topics: [{ delayMs: 400 }, { delayMs: 900 }] }
    await cluster.send(topic, [body('bad'), body('good')])
    const { watching, attempts } = await start({ topics: [topic], group: groupId, retry }, ({ payload, attempt }) => {
      if (payload.id === 'bad' && attempt < 4) fail()
    })
    await cluster.untilCommitted(groupId, topic, [2, -1])
    expect(watching.ended('failed')).toBe(1)
    await watching.until(() => watching.ended('handled') === 2)
    const bad = attempts.filter(({ id }) => id === 'bad')
    const [first, second] = [`${topic}.${groupId}.retry-1`, `${topic}.${groupId}.retry-2`]
    expect(bad.map(({ attempt, topic: on }) => [attempt, on])).toEqual([
      [1, topic],
      [2, first],
      [3, second],
      [4, second],
    ])
    expect(new Set(bad.map(({ key }) => key)).size).toBe(1)
    const waits = bad.slice(1).map(({ at }, index) => at - (bad[index]?.at ?? 0))
    for (const [index, delayMs] of [400, 900, 900].entries()) expect(waits[index]).toBeGreaterThanOrEqual(delayMs)
    expect(watching.ended('failed')).toBe(3)
    for (const name of [first, second]) {
      const highs = (await cluster.highs(name))
        .toSorted((a, b) => a.partition - b.partition)
        .map(({ high }) => Number(high))
      await cluster.untilCommitted(
        groupId,
        name,
        highs.map((high) => (high === 0 ? -1 : high)),
      )
    }
  })

  it('moves a message to the dead letters of its origin when its attempts are spent', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    await cluster.send(topic, [body('good'), body('bad')])
    const options = { topics: [topic], group: groupId, retry: { topics: [{ delayMs: 50 }] } }
    const { watching, attempts } = await start(options, ({ payload }) => payload.id === 'bad' && fail(), {
      maxAttempts: 3,
    })
    const [deadLetter] = await cluster.read(`${topic}.dead-letter`, 1)
    expect(String(deadLetter?.value)).toBe(body('bad'))
    expect(deadLetter?.headers).toMatchObject({
      'consume-once-origin-topic': topic,
      'consume-once-origin-offset': '1',
      'consume-once-attempts': '3',
      'consume-once-reason': 'attempts-spent',
    })
    const [firstFailure, deadLettered] = ['consume-once-first-failure-at', 'consume-once-dead-lettered-at'].map(
      (name) => Date.parse(String(deadLetter?.headers[name])),
    )
    expect(Number(deadLettered) - Number(firstFailure)).toBeGreaterThanOrEqual(100)
    await watching.until(() => watching.ended('dead-lettered') === 1)
    expect(attempts.filter(({ id }) => id === 'bad').map(({ attempt }) => attempt)).toEqual([1, 2, 3])
  })

  it('gives up the order of a partition for what failed: nothing waits behind it', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    await cluster.send(topic, [body('1'), body('2'), body('3')])
    const options = {
      topics: [topic],
      group: groupId,
      order: 'partition',
      retry: { topics: [{ delayMs: 200 }] },
    } as const
    const { watching, attempts } = await start(options, ({ payload, attempt }) => {
      if (payload.id === '1' && attempt === 1) fail()
    })
    await watching.until(() => watching.ended('handled') === 3)
    expect(attempts.map(({ id }) => id)).toEqual(['1', '2', '3', '1'])
  })

  it('has one effect of a message whose original comes again while its copy waits [T62]', async () => {
    const [topic, groupId, store] = [await cluster.topic(), uniqueName('group'), memoryStore()]
    const retry = { topics: [{ delayMs: 2_000 }] }
    const options = { topics: [topic], group: groupId, retry }
    await cluster.send(topic, [body('a')])
    const first = await start(options, fail, { store })
    await cluster.untilCommitted(groupId, topic, [1])
    await first.running.stop()
    await cluster.admin.setOffsets({ groupId, topic, partitions: [{ partition: 0, offset: '0' }] })
    const second = await start(options, () => {}, { store })
    await second.watching.until(() => second.watching.ended('duplicate') === 1)
    expect(second.attempts.map(({ attempt, topic: on }) => [attempt, on])).toEqual([[2, topic]])
    await cluster.untilCommitted(groupId, `${topic}.${groupId}.retry-1`, [1])
  })

  it('holds a message back, visibly, until its copy is confirmed', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const own = await cluster.topic(1, { 'max.message.bytes': '10' })
    const options = { topics: [topic], group: groupId, retry: { topics: [{ delayMs: 50, topic: own }] } }
    await cluster.send(topic, [body('bad'), body('good')])
    const { watching } = await start(options, ({ payload, attempt }) => {
      if (payload.id === 'bad' && attempt === 1) fail()
    })
    const failed = (): number => watching.events.filter((event) => event.type === 'publish-failed').length
    await watching.until(() => failed() >= 2 && watching.ended('handled') === 1)
    expect(watching.events).toContainEqual(expect.objectContaining({ type: 'publish-failed', place: 'retry' }))
    await cluster.untilCommitted(groupId, topic, [0])
    const configEntries = [{ name: 'max.message.bytes', value: '100000' }]
    await cluster.admin.alterConfigs({
      validateOnly: false,
      resources: [{ type: ConfigResourceTypes.TOPIC, name: own, configEntries }],
    })
    await watching.until(() => watching.ended('handled') === 2)
    await cluster.untilCommitted(groupId, topic, [2])
  })

  it('begins with the retries that waited while nobody ran', async () => {
    const [topic, groupId, store] = [await cluster.topic(), uniqueName('group'), memoryStore()]
    const options = { topics: [topic], group: groupId, retry: { topics: [{ delayMs: 700 }] } }
    await cluster.send(topic, [body('a')])
    const first = await start(options, fail, { store })
    await cluster.untilCommitted(groupId, topic, [1])
    await first.running.stop()
    const second = await start(options, () => {}, { store })
    await second.watching.until(() => second.watching.ended('handled') === 1)
    expect(second.attempts).toMatchObject([{ id: 'a', attempt: 2, topic: `${topic}.${groupId}.retry-1` }])
    await eventually(async () => second.running.health().partitions.every(({ lag }) => lag === undefined || lag === 0))
  })
})

describe('a message that another process is busy with', () => {
  it('waits on the retry topic that outlasts the lease of the other, leaves its lane free and spends no attempt', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const [begun, held] = [gate(), gate()]
    // Another process that has got the same message: one scope.
    const shared = { store: memoryStore(), scope: 'shared', leaseMs: 1_500 }
    await cluster.send(topic, [body('a'), body('b')])
    const owner = await start(
      { topics: [topic], group: uniqueName('group') },
      ({ payload }) => {
        if (payload.id !== 'a') return undefined
        begun.open()
        return held.opened
      },
      shared,
    )
    await begun.opened
    await owner.watching.until(() => owner.watching.ended('handled') === 1)
    await cluster.send(topic, [body('c')])
    const retry = { topics: [{ delayMs: 50 }, { delayMs: 1_700 }] }
    const job = await start({ topics: [topic], group: groupId, order: 'partition', retry }, () => {}, {
      ...shared,
      whenBusy: 'hand-back',
    })
    await job.watching.until(() => job.watching.ended('handed-back') === 2)
    const ended = (): number => job.watching.ended('handled') + job.watching.ended('duplicate')
    expect(ended()).toBe(2)
    held.open()
    await job.watching.until(() => ended() === 3)
    expect(job.attempts.map(({ id }) => id)).not.toContain('a')
    const [busy] = await cluster.read(`${topic}.${groupId}.retry-2`, 2)
    expect(busy?.headers).toMatchObject({ 'consume-once-attempts': '0', 'consume-once-origin-topic': topic })
    expect(busy?.headers).not.toHaveProperty('consume-once-first-failure-at')
    expect((await cluster.highs(`${topic}.${groupId}.retry-1`)).map(({ high }) => high)).toEqual(['0'])
  })

  it('cannot be handed back without a retry topic: the start says so', async () => {
    const starting = start({ topics: [await cluster.topic()], group: uniqueName('group') }, () => {}, {
      whenBusy: 'hand-back',
    })
    await expect(starting).rejects.toThrow(/whenBusy: expected 'wait' where messages have no retry place/)
  })
})
