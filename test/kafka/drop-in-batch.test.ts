import { openedOnce } from '../kit/opened.ts'
import { eventually } from '../kit/eventually.ts'
import { Watching } from '../kit/recording-intake.ts'
import { afterEach, describe, expect, it } from '@jest/globals'
import type { ConsumerConfig, ConsumerRunConfig, EachBatchPayload } from 'kafkajs'
import { eachBatch, type DropInOptions, type EachBatch } from '../../adapters/kafkajs/index.ts'
import { defineConsumer, TerminalError, type Store } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { uniqueName } from '../kit/namespace.ts'
import { Cluster } from './kit.ts'
import { body, Gate, OwnConsumer, type Handle, type Payload } from './own-consumer.ts'

let cluster: Cluster
const started: { own: OwnConsumer; onBatch: EachBatch }[] = []

openedOnce(Cluster, (made) => (cluster = made))
afterEach(async () => {
  const ends = started
    .splice(0)
    .flatMap(({ own, onBatch }) => [own[Symbol.asyncDispose](), onBatch.stop({ deadlineMs: 200 })])
  await Promise.all(ends)
})

interface Settings extends DropInOptions {
  readonly store?: Store
  readonly concurrency?: number
  readonly maxInFlight?: number
  readonly consumer?: Partial<ConsumerConfig>
  readonly run?: Partial<ConsumerRunConfig>
  /** What becomes of a payload before the function is given it. */
  readonly copying?: (payload: EachBatchPayload) => EachBatchPayload
}

interface Started {
  readonly own: OwnConsumer
  readonly onBatch: EachBatch
  readonly watching: Watching
  /** What the function was given, and what it threw. */
  readonly batches: EachBatchPayload[]
  readonly errors: unknown[]
}

async function start(topic: string, groupId: string, handle: Handle, settings: Settings = {}): Promise<Started> {
  const { store = memoryStore(), concurrency = 64, maxInFlight = 2_000, consumer, run, ...others } = settings
  const { copying = (payload): EachBatchPayload => payload, ...options } = others
  const watching = new Watching()
  const definition = defineConsumer<Payload>({
    name: 'sms',
    id: ({ payload }) => payload.id,
    store,
    handle,
    concurrency,
    maxInFlight,
    backoff: { initialMs: 5, maxMs: 20 },
    graceMs: 200,
    observe: watching.observe,
  })
  const onBatch = eachBatch(definition, { group: groupId, heartbeatEveryMs: 100, ...options })
  const [batches, errors]: [EachBatchPayload[], unknown[]] = [[], []]
  const noting = async (payload: EachBatchPayload): Promise<void> => {
    batches.push(payload)
    try {
      await onBatch(copying(payload))
    } catch (error) {
      errors.push(error)
      throw error
    }
  }
  const own = await OwnConsumer.run(cluster, {
    topics: [topic],
    groupId,
    run: { eachBatch: noting, eachBatchAutoResolve: false, ...run },
    ...consumer,
  })
  started.push({ own, onBatch })
  return { own, onBatch, watching, batches, errors }
}

const failsWhenBad: Handle = ({ payload }) => {
  if (payload.id === 'bad') throw new TerminalError('card declined')
}

const bodies = (...ids: readonly string[]): string[] => ids.map((id) => body(id))

describe("eachBatch in a consumer of the user's own", () => {
  it('handles a message once, however often it comes in one batch or the next', async () => {
    const [topic, groupId] = [await cluster.topic(2), uniqueName('group')]
    const handled: string[] = []
    await cluster.send(topic, bodies('a', 'b', 'a', 'c', 'a'))
    await cluster.send(topic, bodies('a', 'c'), 1)
    const { own, errors } = await start(topic, groupId, ({ payload }) => handled.push(payload.id))
    await cluster.untilCommitted(groupId, topic, [5, 2])
    await cluster.send(topic, bodies('b', 'd'), 1)
    await cluster.untilCommitted(groupId, topic, [5, 4])
    expect(handled.toSorted()).toEqual(['a', 'b', 'c', 'd'])
    expect([own.crashes, own.joins, errors]).toEqual([[], 1, []])
  })

  it('runs keys side by side and each in its order, and commits only what everything below is finished with', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const gate = new Gate()
    const [slow, fast] = [Buffer.from('slow'), Buffer.from('fast')]
    await cluster.send(topic, [
      { key: fast, value: body('f1') },
      { key: slow, value: body('s1') },
      { key: fast, value: body('f2') },
      { key: slow, value: body('s2') },
      { key: fast, value: body('f3') },
    ])
    const handled: string[] = []
    const handle: Handle = async (context) => {
      if (context.payload.id === 's1') await gate.handle(context)
      handled.push(context.payload.id)
    }
    const { own, batches } = await start(topic, groupId, handle, { run: { autoCommitInterval: 1 } })
    await cluster.untilCommitted(groupId, topic, [1]) // While the batch is still under way.
    await eventually(async () => handled.length === 3)
    expect([handled, batches.length]).toEqual([['f1', 'f2', 'f3'], 1])
    expect(await cluster.committed(groupId, topic)).toEqual([1])
    gate.letGo()
    await cluster.untilCommitted(groupId, topic, [5])
    expect(handled).toEqual(['f1', 'f2', 'f3', 's1', 's2'])
    // With s1 everything below s2 was finished.
    const history = (await cluster.commitHistory(groupId)).get(`${topic}/0`)
    expect(history?.filter((offset) => offset !== 3)).toEqual([1, 5])
    expect([own.crashes, own.joins]).toEqual([[], 1])
  })

  it('order partition: one at a time', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const handled: string[] = []
    let [now, most] = [0, 0]
    await cluster.send(topic, bodies('1', '2', '3', '4'))
    const handle: Handle = async ({ payload }) => {
      most = Math.max(most, ++now)
      await new Promise((resolve) => setImmediate(resolve))
      now--
      handled.push(payload.id)
    }
    await start(topic, groupId, handle, { order: 'partition' })
    await cluster.untilCommitted(groupId, topic, [4])
    expect([handled, most]).toEqual([['1', '2', '3', '4'], 1])
  })

  it('has no more of a batch in flight than the consumer may [T150]', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const ids = Array.from({ length: 200 }, (_, index) => `${index}`)
    const inFlight = new Set<string>()
    await cluster.send(topic, bodies(...ids))
    const handle: Handle = async () => {
      inFlight.add(String(all.onBatch.health().checks['handlers']))
      await new Promise((resolve) => setImmediate(resolve))
    }
    const settings = { maxInFlight: 6, concurrency: 3, order: 'none' as const }
    const all = await start(topic, groupId, (context) => handle(context), settings)
    await cluster.untilCommitted(groupId, topic, [200])
    const counts = [...inFlight].map((text) => Number.parseInt(text, 10))
    expect(Math.max(...counts)).toBe(6)
    expect(all.watching.ended('handled')).toBe(200)
  })

  it('a rebalance while handlers run: each runs once, its copy joins it here and is a duplicate there', async () => {
    const [topic, groupId] = [await cluster.topic(2), uniqueName('group')]
    const store = memoryStore()
    const [mine, theirs] = [new Gate(), new Gate()]
    for (const partition of [0, 1]) await cluster.send(topic, bodies(`m${partition}`, `n${partition}`), partition)
    const run = { partitionsConsumedConcurrently: 2 }
    const one = await start(topic, groupId, mine.handle, { store, run })
    await mine.untilRunning(4)
    const two = await start(topic, groupId, theirs.handle, { store })
    await eventually(async () => one.own.joins === 2 && two.own.joins > 0)
    await eventually(async () => one.onBatch.health().checks['handlers'] === '6 in flight')
    mine.letGo()
    await cluster.untilCommitted(groupId, topic, [2, 2])
    expect([mine.runs.toSorted(), theirs.runs]).toEqual([['m0', 'm1', 'n0', 'n1'], []])
    expect([one.watching.ended('settle-refused'), one.watching.ended('joined')]).toEqual([4, 2])
    expect(two.watching.ended('duplicate')).toBe(2)
    expect([...one.own.crashes, ...two.own.crashes]).toEqual([])
  })

  it('a message that must be dead-lettered and may not be: all before it is committed, and nothing from it on', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const store = memoryStore()
    // The first that must be is known before anything before it was handled: it has no ID.
    await cluster.send(topic, [...bodies('a', 'b', 'c'), '{}', ...bodies('d', 'bad', 'e')])
    const without = await start(topic, groupId, failsWhenBad, { store, order: 'partition' })
    await eventually(async () => without.own.crashes.length >= 1)
    expect(without.own.crashes[0]?.restart).toBe(true)
    expect(without.own.crashes[0]?.error.message).toContain('the message at offset 3 must be dead-lettered (no-id')
    expect(await cluster.committed(groupId, topic)).toEqual([3])
    await without.own[Symbol.asyncDispose]()
    await start(topic, groupId, failsWhenBad, { store, kafka: cluster.client() })
    await cluster.untilCommitted(groupId, topic, [7])
    expect(await cluster.read(`${topic}.dead-letter`, 2)).toHaveLength(2)
  }, 60_000)
})

/** As a wrapper around the function may make one. */
function copyOf({ batch, ...payload }: EachBatchPayload): EachBatchPayload {
  const copy = { ...batch, isEmpty: () => false, firstOffset: () => '0', lastOffset: () => '4' }
  return { ...payload, batch: { ...copy, offsetLag: () => '0', offsetLagLow: () => '0' } }
}

describe('a batch that cannot go on to its end', () => {
  it.each([false, true])(
    'the consumer stops in the middle: exactly what is handled is committed (eachBatchAutoResolve %p)',
    async (eachBatchAutoResolve) => {
      const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
      const store = memoryStore()
      const gate = new Gate()
      await cluster.send(topic, bodies('1', '2', 'runs', '4', '5'))
      const handle: Handle = (context) => (context.payload.id === 'runs' ? gate.handle(context) : undefined)
      const run = { eachBatchAutoResolve }
      const { own, onBatch, watching, errors } = await start(topic, groupId, handle, { store, order: 'partition', run })
      await gate.untilRunning(1)
      const stopping = own.stop()
      await watching.until(() => watching.ended('handed-back') === 2)
      gate.letGo()
      await stopping
      expect(await cluster.committed(groupId, topic)).toEqual([3])
      expect([errors, own.crashes]).toEqual([[], []])
      await onBatch.stop()

      const handled: string[] = []
      await start(topic, groupId, ({ payload }) => handled.push(payload.id), { store })
      await cluster.untilCommitted(groupId, topic, [5])
      expect(handled.toSorted()).toEqual(['4', '5'])
    },
  )

  it('the consumer stops in the middle of a batch that is a copy: by an error, and nothing is lost either', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const gate = new Gate()
    await cluster.send(topic, bodies('1', '2', 'runs', '4', '5'))
    const handle: Handle = (context) => (context.payload.id === 'runs' ? gate.handle(context) : undefined)
    const run = { eachBatchAutoResolve: true }
    const { own, watching, errors } = await start(topic, groupId, handle, { order: 'partition', run, copying: copyOf })
    await gate.untilRunning(1)
    const stopping = own.stop()
    await watching.until(() => watching.ended('handed-back') === 2)
    gate.letGo()
    await stopping
    expect(await cluster.committed(groupId, topic)).toEqual([3])
    expect(String(errors)).toContain('only the first 3 of 5 messages are handled, because the consumer stops')
  })

  it.each([false, true])(
    'the user seeks in the middle: nothing unhandled is committed (eachBatchAutoResolve %p)',
    async (eachBatchAutoResolve) => {
      const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
      const gate = new Gate()
      const handled: string[] = []
      await cluster.send(topic, bodies('1', '2', 'runs', '4', '5'))
      const handle: Handle = async (context) => {
        if (context.payload.id === 'runs') await gate.handle(context)
        handled.push(context.payload.id)
      }
      const run = { eachBatchAutoResolve }
      const { own, watching, errors } = await start(topic, groupId, handle, { order: 'partition', run })
      await gate.untilRunning(1)
      own.consumer.seek({ topic, partition: 0, offset: '1' })
      await watching.until(() => watching.ended('handed-back') === 2)
      gate.letGo()
      await cluster.untilCommitted(groupId, topic, [5])
      expect(handled).toEqual(['1', '2', 'runs', '4', '5'])
      expect(watching.ended('duplicate')).toBe(2)
      expect([...((await cluster.commitHistory(groupId)).get(`${topic}/0`) ?? [])]).toEqual([3, 1, 5])
      expect([errors, own.crashes, own.joins]).toEqual([[], [], 1])
    },
  )

  it('its function stops: what runs ends and is committed', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const gate = new Gate()
    await cluster.send(topic, bodies('1', 'runs', '3', '4'))
    const handle: Handle = (context) => (context.payload.id === 'runs' ? gate.handle(context) : undefined)
    const { own, onBatch, watching } = await start(topic, groupId, handle, { order: 'partition' })
    await gate.untilRunning(1)
    const stopping = Promise.all([own.stop(), onBatch.stop()])
    await watching.until(() => watching.ended('handed-back') === 2)
    gate.letGo()
    await stopping
    expect(await cluster.committed(groupId, topic)).toEqual([2])
    expect(own.crashes).toEqual([])
  })
})
