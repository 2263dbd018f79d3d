import { openedOnce } from '../kit/opened.ts'
import { eventually } from '../kit/eventually.ts'
import { Watching } from '../kit/recording-intake.ts'
import { describe, expect, it } from '@jest/globals'
import { runKafka, type KafkaOptions } from '../../adapters/kafkajs/index.ts'
import {
  defineConsumer,
  LeaseLostError,
  StoreError,
  type HandlerContext,
  type Running,
  type Store,
} from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { uniqueName } from '../kit/namespace.ts'
import { GROUP_PROTOCOL } from './client/of-tests.ts'
import { itOnClassic, itOnKafkajs } from './client/it-on.ts'
import { Cluster, FAST } from './kit.ts'
import { stoppedAfterEach } from '../kit/after-each.ts'

let cluster: Cluster
const started = stoppedAfterEach<Running>({ deadlineMs: 500 })

openedOnce(Cluster, (made) => (cluster = made))

interface Payload {
  readonly id: string
}
type Handle = (context: HandlerContext<Payload>) => unknown

interface Started {
  readonly running: Running
  readonly watching: Watching
}

async function start(
  options: KafkaOptions,
  handle: Handle,
  {
    store = memoryStore(),
    ...more
  }: { store?: Store; maxAttempts?: number; maxInFlight?: number; concurrency?: number } = {},
): Promise<Started> {
  const watching = new Watching()
  const consumer = defineConsumer<Payload>({
    name: 'sms',
    id: ({ payload }) => payload.id,
    store,
    handle,
    backoff: { initialMs: 5, maxMs: 20 },
    graceMs: 200,
    observe: watching.observe,
    ...more,
  })
  const running = await runKafka(cluster.kafka(), consumer, {
    ...FAST,
    ...options,
    consumerConfig: { ...FAST.consumerConfig, ...options.consumerConfig },
  })
  started.push(running)
  return { running, watching }
}

const body = (id: string, more: object = {}): string => JSON.stringify({ id, ...more })

/** Handlers that wait until they are let go, by ID. */
class Gate {
  readonly runs: string[] = []
  readonly reasons: unknown[] = []
  readonly #waiting = new Map<string, () => void>()

  readonly handle: Handle = async ({ payload: { id }, signal }) => {
    this.runs.push(id)
    signal.addEventListener('abort', () => this.reasons.push(signal.reason))
    await new Promise<void>((resolve) => this.#waiting.set(id, resolve))
  }

  letGo(): void {
    for (const resolve of this.#waiting.values()) resolve()
    this.#waiting.clear()
  }
}

describe('a consumer on Kafka', () => {
  it('handles a message once, however often it comes, and commits them all', async () => {
    const [topic, groupId] = [await cluster.topic(2), uniqueName('group')]
    const handled: string[] = []
    await cluster.send(topic, [body('a'), body('b'), body('a')])
    await cluster.send(topic, [body('a')], 1)
    await start({ topics: [topic], group: groupId }, ({ payload }) => handled.push(payload.id))
    await cluster.untilCommitted(groupId, topic, [3, 1])
    await cluster.send(topic, [body('b')], 1)
    await cluster.untilCommitted(groupId, topic, [3, 2])
    expect(handled.toSorted()).toEqual(['a', 'b'])
  })

  it('moves what has no identity and what fails for ever to the dead-letter topic, and goes on', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    await cluster.send(topic, ['{}', body('bad'), body('good'), 'no json'])
    const { watching } = await start(
      { topics: [topic], group: groupId },
      ({ payload }) => {
        if (payload.id === 'bad') throw new Error('card declined')
      },
      { maxAttempts: 2 },
    )
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
    expect(watching.ended('dead-lettered')).toBe(3)
  })

  it.each([TypeError, RangeError, ReferenceError, SyntaxError])(
    'survives handlers that throw a %p, seven times in one join (K3, K5)',
    async (Thrown) => {
      const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
      const ids = ['1', '2', '3', '4', '5', '6', '7']
      await cluster.send(
        topic,
        ids.map((id) => body(id)),
      )
      const failed = new Set<string>()
      const { watching } = await start({ topics: [topic], group: groupId }, ({ payload }) => {
        if (failed.has(payload.id)) return
        failed.add(payload.id)
        throw new Thrown('a mistake of the user')
      })
      await cluster.untilCommitted(groupId, topic, [7])
      expect(watching.ended('handled')).toBe(7)
      expect(watching.told('connection-lost')).toBe(0)
      expect(watching.told('group-joined')).toBe(1)
    },
  )

  it('survives an observer that throws at everything a source tells (K13)', async () => {
    const [topic, groupId] = [await cluster.topic(2), uniqueName('group')]
    const told: string[] = []
    const consumer = defineConsumer({
      name: 'sms',
      id: ({ value }) => value ?? undefined,
      store: memoryStore(),
      handle: () => {},
      observe: (event) => {
        told.push(event.type)
        if (event.type === 'source' || event.type === 'settles') throw new TypeError('a mistake of the user')
      },
    })
    const running = await runKafka(cluster.kafka(), consumer, { ...FAST, topics: [topic], group: groupId })
    started.push(running)
    await cluster.send(topic, ['{}'])
    await cluster.untilCommitted(groupId, topic, [1, -1])
    await cluster.admin.createPartitions({ topicPartitions: [{ topic, count: 3 }] })
    await eventually(async () => told.filter((type) => type === 'source').length >= 3)
    await cluster.send(topic, ['[]'], 2)
    await cluster.untilCommitted(groupId, topic, [1, -1, 1])
    expect(told).toContain('settles')
  })

  it('stays a member while a handler runs longer than its session', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const gate = new Gate()
    await cluster.send(topic, [body('long')])
    const consumer = { sessionTimeout: 1_000 }
    const { watching } = await start({ topics: [topic], group: groupId, consumerConfig: consumer }, gate.handle)
    await new Promise((resolve) => setTimeout(resolve, 1_600))
    gate.letGo()
    await cluster.untilCommitted(groupId, topic, [1])
    expect(watching.told('group-joined')).toBe(1)
    expect(gate.runs).toEqual(['long'])
  })

  it('pauses while its store is down, longer than its session, stays a member and resumes by itself [T74]', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const memory = memoryStore()
    let isDown = true
    const store: Store = {
      ...memory,
      open: () => memory.open(),
      claim: async (request) => {
        if (isDown) throw new StoreError('STORE_UNREACHABLE', 'down')
        return memory.claim(request)
      },
      renew: (claims, leaseMs) => memory.renew(claims, leaseMs),
      mark: (claims) => memory.mark(claims),
      release: (claims, how) => memory.release(claims, how),
      setAside: (claims, as, why) => memory.setAside(claims, as, why),
    }
    const handled: string[] = []
    await cluster.send(topic, [body('a'), body('b')])
    const consumer = { sessionTimeout: 1_000 }
    const handle: Handle = ({ payload }) => handled.push(payload.id)
    const { running, watching } = await start({ topics: [topic], group: groupId, consumerConfig: consumer }, handle, {
      store,
    })
    await watching.until(() => watching.events.some(({ type }) => type === 'store-down'))
    expect(running.health().ready).toBe(false)
    await new Promise((resolve) => setTimeout(resolve, 1_600))
    expect(handled).toEqual([])
    isDown = false
    await cluster.untilCommitted(groupId, topic, [2])
    expect(handled.toSorted()).toEqual(['a', 'b'])
    expect(watching.told('group-joined')).toBe(1)
    await eventually(async () => running.health().ready)
  })

  it('takes no more than it may hold, and all in the end', async () => {
    const [topic, groupId] = [await cluster.topic(2), uniqueName('group')]
    let most = 0
    let now = 0
    const ids = Array.from({ length: 300 }, (_, index) => `${index}`)
    const handle: Handle = async () => {
      most = Math.max(most, ++now)
      await new Promise((resolve) => setImmediate(resolve))
      now--
    }
    for (const partition of [0, 1])
      await cluster.send(
        topic,
        ids.map((id) => body(`${partition}-${id}`)),
        partition,
      )
    await start({ topics: [topic], group: groupId }, handle, { maxInFlight: 20, concurrency: 10 })
    await cluster.untilCommitted(groupId, topic, [300, 300])
    expect(most).toBeLessThanOrEqual(10)
  })
})

describe('a rebalance while handlers run', () => {
  // By that of KIP-848 kept partitions stay.
  itOnClassic('kept partition: one run, its copy joins, and the result counts in the new epoch', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const gate = new Gate()
    await cluster.send(topic, [body('a')])
    const { watching } = await start({ topics: [topic], group: groupId }, gate.handle)
    await eventually(async () => gate.runs.length === 1)
    await cluster.admin.createPartitions({ topicPartitions: [{ topic, count: 2 }] })
    await watching.until(() => watching.told('group-joined') === 2)
    await cluster.send(topic, [body('b')], 1) // Handled in the new epoch: the copy of `a` has come by then.
    await eventually(async () => gate.runs.length === 2)
    gate.letGo()
    await cluster.untilCommitted(groupId, topic, [1, 1])
    expect(gate.runs).toEqual(['a', 'b'])
    expect(gate.reasons).toEqual([])
    expect(watching.ended('settle-refused')).toBe(1)
    expect(watching.ended('joined')).toBe(1)
  })

  it('lost partition: aborted; it finished all the same, so its new owner meets a duplicate [T80]', async () => {
    const [topic, groupId] = [await cluster.topic(2), uniqueName('group')]
    const store = memoryStore()
    const [mine, theirs] = [new Gate(), new Gate()]
    for (const partition of [0, 1]) await cluster.send(topic, [body(`m${partition}`)], partition)
    const one = await start({ topics: [topic], group: groupId }, mine.handle, { store })
    await eventually(async () => mine.runs.length === 2)
    const two = await start({ topics: [topic], group: groupId }, theirs.handle, { store })
    await eventually(async () => mine.reasons.length === 1)
    expect(mine.reasons[0]).toBeInstanceOf(LeaseLostError)
    expect(mine.reasons[0]).toMatchObject({ code: 'DELIVERY_LOST' })
    mine.letGo()
    await cluster.untilCommitted(groupId, topic, [1, 1])
    expect(theirs.runs).toEqual([])
    expect(two.watching.ended('duplicate')).toBe(1)
    expect(one.watching.ended('settle-refused')).toBe(GROUP_PROTOCOL === 'classic' ? 2 : 1) // The kept one, and the lost one.
    const history = await cluster.commitHistory(groupId)
    for (const offsets of history.values()) expect(offsets).toEqual(offsets.toSorted((a, b) => a - b))
  })

  // An assigner crashes it.
  itOnKafkajs('crash of the consumer: the handler goes on, its copy joins in the new one', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const gate = new Gate()
    let turns = 0
    const { PartitionAssigners } = await import('kafkajs')
    const partitionAssigners = [
      (config: Parameters<typeof PartitionAssigners.roundRobin>[0]) => {
        const usual = PartitionAssigners.roundRobin(config)
        return {
          ...usual,
          assign: async (group: Parameters<typeof usual.assign>[0]) => {
            if (++turns === 2) throw new TypeError('once')
            return usual.assign(group)
          },
        }
      },
    ]
    await cluster.send(topic, [body('a')])
    const { watching } = await start(
      { topics: [topic], group: groupId, consumerConfig: { partitionAssigners } },
      gate.handle,
    )
    await eventually(async () => gate.runs.length === 1)
    await cluster.admin.createPartitions({ topicPartitions: [{ topic, count: 2 }] })
    await watching.until(() => watching.told('rebuilt') === 1)
    await cluster.send(topic, [body('b')], 1)
    await eventually(async () => gate.runs.length === 2)
    gate.letGo()
    await cluster.untilCommitted(groupId, topic, [1, 1])
    expect(gate.runs).toEqual(['a', 'b'])
    expect(gate.reasons).toEqual([])
  })
})

describe('stopping a consumer on Kafka', () => {
  it('lets handlers end, and commits exactly what they came to', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const gate = new Gate()
    await cluster.send(
      topic,
      ['a', 'b', 'c'].map((id) => body(id)),
    )
    const { running } = await start({ topics: [topic], group: groupId }, gate.handle)
    await eventually(async () => gate.runs.length === 3)
    const stopping = running.stop()
    expect(running.stop()).toBe(stopping)
    gate.letGo()
    await stopping
    expect(await cluster.committed(groupId, topic)).toEqual([3])
    expect(running.state).toBe('stopped')
  })

  it('past its deadline commits up to the first that did not end, which comes again', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const store = memoryStore()
    const stuck = new Gate()
    await cluster.send(topic, [body('a'), body('stuck'), body('c')])
    const handle: Handle = (context) => (context.payload.id === 'stuck' ? stuck.handle(context) : undefined)
    const { running, watching } = await start({ topics: [topic], group: groupId }, handle, { store })
    await watching.until(() => watching.ended('handled') === 2)
    await running.stop({ deadlineMs: 50 })
    expect(await cluster.committed(groupId, topic)).toEqual([1])
    stuck.letGo()

    const handled: string[] = []
    await start({ topics: [topic], group: groupId }, ({ payload }) => handled.push(payload.id), {
      store: memoryStore(),
    })
    await cluster.untilCommitted(groupId, topic, [3])
    expect(handled).toEqual(['stuck', 'c'])
  }, 60_000)
})
