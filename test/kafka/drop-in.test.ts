import { openedOnce } from '../kit/opened.ts'
import { eventually } from '../kit/eventually.ts'
import { Watching } from '../kit/recording-intake.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from '@jest/globals'
import type { ConsumerConfig } from 'kafkajs'
import { eachMessage, runKafka, type DropInOptions, type EachMessage } from '../../adapters/kafkajs/index.ts'
import { defineConsumer, StoreError, TerminalError, type Store } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { uniqueName } from '../kit/namespace.ts'
import { storeWith } from '../kit/store-with.ts'
import { Cluster, FAST } from './kit.ts'
import { body, Gate, OwnConsumer, type Handle, type Payload } from './own-consumer.ts'

let cluster: Cluster
const started: { own: OwnConsumer; onMessage: EachMessage }[] = []

openedOnce(Cluster, (made) => (cluster = made))
afterEach(async () => {
  const ends = started
    .splice(0)
    .flatMap(({ own, onMessage }) => [own[Symbol.asyncDispose](), onMessage.stop({ deadlineMs: 200 })])
  await Promise.all(ends)
})

interface Started {
  readonly own: OwnConsumer
  readonly onMessage: EachMessage
  readonly watching: Watching
}

interface Settings extends DropInOptions {
  readonly store?: Store
  readonly maxAttempts?: number
  readonly consumer?: Partial<ConsumerConfig>
  readonly concurrently?: number
}

function consumerFor(
  handle: Handle,
  watching: Watching,
  store: Store,
  maxAttempts = 5,
): ReturnType<typeof defineConsumer> {
  return defineConsumer<Payload>({
    name: 'sms',
    id: ({ payload }) => payload.id,
    store,
    handle,
    maxAttempts,
    backoff: { initialMs: 5, maxMs: 20 },
    graceMs: 200,
    observe: watching.observe,
  })
}

/** A consumer of its own that lives until the test is over. */
async function start(topic: string, groupId: string, handle: Handle, settings: Settings = {}): Promise<Started> {
  const { store = memoryStore(), maxAttempts, consumer, concurrently = 1, ...options } = settings
  const watching = new Watching()
  const onMessage = eachMessage(consumerFor(handle, watching, store, maxAttempts), {
    group: groupId,
    heartbeatEveryMs: 100,
    ...options,
  })
  const run = { eachMessage: onMessage, partitionsConsumedConcurrently: concurrently }
  const own = await OwnConsumer.run(cluster, { topics: [topic], groupId, run, ...consumer })
  started.push({ own, onMessage })
  return { own, onMessage, watching }
}

/** A store that the test takes away. */
class Outage {
  isDown = false
  readonly store: Store = storeWith((memory) => ({
    claim: async (request) => {
      if (this.isDown) throw new StoreError('STORE_UNREACHABLE', 'down')
      return memory.claim(request)
    },
  }))
}

describe("eachMessage in a consumer of the user's own", () => {
  it('handles a message once, however often it comes, and kafkajs commits them all', async () => {
    const [topic, groupId] = [await cluster.topic(2), uniqueName('group')]
    const handled: string[] = []
    await cluster.send(topic, [body('a'), body('b'), body('a')])
    await cluster.send(topic, [body('a')], 1)
    const { watching } = await start(topic, groupId, ({ payload }) => handled.push(payload.id))
    await cluster.untilCommitted(groupId, topic, [3, 1])
    expect(handled.toSorted()).toEqual(['a', 'b'])
    expect([watching.ended('handled'), watching.ended('duplicate')]).toEqual([2, 2])
  })

  it('has the keys of runKafka, where it is told the group', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const store = memoryStore()
    await cluster.send(topic, [body('a')])
    const first = await start(topic, groupId, () => {}, { store })
    await cluster.untilCommitted(groupId, topic, [1])
    await first.own[Symbol.asyncDispose]()
    await cluster.send(topic, [body('a')])
    const watching = new Watching()
    const again = consumerFor(() => {}, watching, store)
    await using running = await runKafka(cluster.kafka(), again, { ...FAST, topics: [topic], group: groupId })
    await watching.until(() => watching.ended('duplicate') + watching.ended('handled') === 1)
    expect(watching.ended('duplicate')).toBe(1)
    expect(running.state).toBe('running')
  })

  it.each([TypeError, RangeError, ReferenceError, SyntaxError])(
    'lives on when handlers throw a %p, seven times in one join (K3, K5)',
    async (Thrown) => {
      const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
      const ids = ['1', '2', '3', '4', '5', '6', '7']
      const values = ids.map((id) => body(id))
      await cluster.send(topic, values)
      const failed = new Set<string>()
      const { own, watching } = await start(topic, groupId, ({ payload }) => {
        if (failed.has(payload.id)) return
        failed.add(payload.id)
        throw new Thrown('a mistake of the user')
      })
      await cluster.untilCommitted(groupId, topic, [7])
      expect(watching.ended('handled')).toBe(7)
      expect([own.crashes, own.joins]).toEqual([[], 1])
    },
  )

  it('stays a member while a handler runs longer than its session (K7)', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const gate = new Gate()
    await cluster.send(topic, [body('long')])
    const { own } = await start(topic, groupId, gate.handle, { consumer: { sessionTimeout: 1_000 } })
    await gate.untilRunning(1)
    await sleep(1_600)
    gate.letGo()
    await cluster.untilCommitted(groupId, topic, [1])
    expect([own.crashes, own.joins, gate.runs]).toEqual([[], 1, ['long']])
  })

  it('waits while its store is down, longer than its session, stays a member and goes on by itself', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const outage = new Outage()
    outage.isDown = true
    const handled: string[] = []
    await cluster.send(topic, [body('a'), body('b')])
    const consumer = { sessionTimeout: 1_000 }
    const handle: Handle = ({ payload }) => handled.push(payload.id)
    const { own, onMessage, watching } = await start(topic, groupId, handle, { store: outage.store, consumer })
    await watching.until(() => watching.events.some(({ type }) => type === 'store-down'))
    expect(onMessage.health().ready).toBe(false)
    await sleep(1_600)
    expect(handled).toEqual([])
    outage.isDown = false
    await cluster.untilCommitted(groupId, topic, [2])
    expect([own.crashes, own.joins, handled]).toEqual([[], 1, ['a', 'b']])
    expect(onMessage.health()).toMatchObject({ ready: true, live: true, state: 'running' })
  })

  it('a rebalance while handlers run: each runs once, its copy joins it here and is a duplicate there', async () => {
    const [topic, groupId] = [await cluster.topic(2), uniqueName('group')]
    const store = memoryStore()
    const [mine, theirs] = [new Gate(), new Gate()]
    for (const partition of [0, 1]) await cluster.send(topic, [body(`m${partition}`)], partition)
    const one = await start(topic, groupId, mine.handle, { store, concurrently: 2 })
    await mine.untilRunning(2)
    const two = await start(topic, groupId, theirs.handle, { store })
    await eventually(async () => one.own.joins === 2 && two.own.joins > 0)
    // Handled behind the copy that came with the new assignment: by then it has joined.
    await eventually(async () => one.onMessage.health().checks['handlers'] === '3 in flight')
    mine.letGo()
    await cluster.untilCommitted(groupId, topic, [1, 1])
    expect([mine.runs.toSorted(), theirs.runs, mine.reasons]).toEqual([['m0', 'm1'], [], []])
    expect([one.watching.ended('settle-refused'), one.watching.ended('joined')]).toEqual([2, 1])
    expect(two.watching.ended('duplicate')).toBe(1)
    expect([...one.own.crashes, ...two.own.crashes]).toEqual([])
  })
})

const failsWhenBad: Handle = ({ payload }) => {
  if (payload.id === 'bad') throw new Error('card declined')
}

describe('a message that must be dead-lettered, in eachMessage', () => {
  it('with kafka: goes to the dead-letter topic, confirmed, and the others go on', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    await cluster.send(topic, ['{}', body('bad'), body('good'), 'no json'])
    const { own, watching } = await start(topic, groupId, failsWhenBad, { maxAttempts: 2, kafka: cluster.client() })
    await cluster.untilCommitted(groupId, topic, [4])
    const deadLetters = await cluster.read(`${topic}.dead-letter`, 3)
    const told = deadLetters.map(
      ({ value, headers }) => `${String(value)} ${String(headers['consume-once-origin-offset'])}`,
    )
    expect(told.toSorted()).toEqual([`${body('bad')} 1`, 'no json 3', '{} 0'].toSorted())
    const bad = deadLetters.find(({ value }) => String(value) === body('bad'))
    expect(bad?.headers).toMatchObject({
      'consume-once-attempts': '2',
      'consume-once-detail': 'card declined',
      'consume-once-group': groupId,
    })
    expect([watching.ended('dead-lettered'), own.crashes, own.joins]).toEqual([3, [], 1])
  })

  it('without: its partition stands still, kafkajs restarts, and goes on where it was given', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const store = memoryStore()
    const runs: string[] = []
    const handle: Handle = ({ payload }) => {
      runs.push(payload.id)
      if (payload.id === 'bad') throw new TerminalError('card declined')
    }
    await cluster.send(topic, [body('good'), body('bad'), body('behind')])
    const without = await start(topic, groupId, handle, { store })
    await eventually(async () => without.own.crashes.length >= 2)
    for (const { restart, error } of without.own.crashes) {
      expect(restart).toBe(true)
      expect(error.message).toContain(`${topic}/0: the message at offset 1 must be dead-lettered`)
      expect(error.message).toContain('Give the option kafka')
    }
    expect(await cluster.committed(groupId, topic)).toEqual([1])
    await without.own[Symbol.asyncDispose]()

    const given = await start(topic, groupId, handle, { store, kafka: cluster.client() })
    await cluster.untilCommitted(groupId, topic, [3])
    expect((await cluster.read(`${topic}.dead-letter`, 1)).map(({ value }) => String(value))).toEqual([body('bad')])
    expect([given.own.crashes, runs]).toEqual([[], ['good', 'bad', 'behind']])
  }, 60_000)
})

describe('what is refused, in eachMessage', () => {
  const cases: readonly (readonly [string, Settings, string])[] = [
    [
      'a dead-letter topic whose naming throws a RangeError',
      {
        deadLetter: {
          topic: () => {
            throw new RangeError('a mistake')
          },
        },
      },
      'a mistake',
    ],
    ['a dead-letter topic that is none', { deadLetter: { topic: () => 'no topic!' } }, 'expected the name of a topic'],
    [
      'dead letters that would come back',
      { deadLetter: { topic: (topic: string) => topic } },
      'consumed again for ever',
    ],
  ]

  it.each(cases)('%s: kafkajs restarts, and nothing is committed', async (_what, settings, told) => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    await cluster.send(topic, [body('a')])
    const handled: string[] = []
    const { own } = await start(topic, groupId, ({ payload }) => handled.push(payload.id), {
      consumer: { retry: { retries: 0 } },
      ...settings,
      ...('deadLetter' in settings ? { kafka: cluster.client() } : {}),
    })
    await eventually(async () => own.crashes.length >= 2)
    for (const { restart, error } of own.crashes) {
      expect(restart).toBe(true)
      expect(error.message).toContain(told)
    }
    expect([handled, await cluster.committed(groupId, topic)]).toEqual([[], [-1]])
  })

  it('after stop(): kafkajs restarts, and nothing is committed', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const handled: string[] = []
    const { own, onMessage } = await start(topic, groupId, ({ payload }) => handled.push(payload.id), {
      consumer: { retry: { retries: 0 } },
    })
    await onMessage.stop()
    await cluster.send(topic, [body('a')])
    await eventually(async () => own.crashes.length >= 1)
    expect(own.crashes[0]?.restart).toBe(true)
    expect([handled, await cluster.committed(groupId, topic)]).toEqual([[], [-1]])
  })
})

describe('stopping a consumer with eachMessage', () => {
  it('both at once: what runs ends and is committed, what waits comes again', async () => {
    const [topic, groupId] = [await cluster.topic(2), uniqueName('group')]
    const store = memoryStore()
    const gate = new Gate()
    const failures: string[] = []
    const handle: Handle = (context) => {
      if (context.payload.id === 'runs') return gate.handle(context)
      failures.push(context.payload.id)
      throw new Error('not now')
    }
    await cluster.send(topic, [body('runs')], 0)
    await cluster.send(topic, [body('waits')], 1)
    const { own, onMessage } = await start(topic, groupId, handle, { store, concurrently: 2, maxAttempts: 1_000_000 })
    await gate.untilRunning(1)
    await eventually(async () => failures.length > 0)
    const stopping = Promise.all([own.stop(), onMessage.stop()])
    gate.letGo()
    await stopping
    expect(await cluster.committed(groupId, topic)).toEqual([1, -1])

    const handled: string[] = []
    await start(topic, groupId, ({ payload }) => handled.push(payload.id), { store, maxAttempts: 1_000_000 })
    await cluster.untilCommitted(groupId, topic, [1, 1])
    expect(handled).toEqual(['waits'])
  })
})
