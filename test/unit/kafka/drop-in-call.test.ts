import { Watching } from '../../kit/recording-intake.ts'
import { afterEach, describe, expect, it } from '@jest/globals'
import {
  eachBatch,
  eachMessage,
  type DropIn,
  type DropInOptions,
  type EachBatch,
  type EachMessage,
} from '../../../adapters/kafkajs/index.ts'
import type { RawMessage } from '../../../adapters/kafka/client.ts'
import type { DropInBatchPayloadLike, EachMessagePayloadLike } from '../../../adapters/kafkajs/kafkajs-like.ts'
import {
  ConfigError,
  defineConsumer,
  LeaseLostError,
  StoppedError,
  StoreError,
  type Consumer,
  type Store,
} from '../../../src/index.ts'
import { memoryStore } from '../../../src/memory/index.ts'
import { gate } from '../../kit/rig.ts'
import { storeWith } from '../../kit/store-with.ts'
import { ScriptedKafka } from '../../kafka/scripted.ts'
import { MemoryOffsets } from '../../../testing/stores/memory-offsets.ts'

const functions: DropIn[] = []
afterEach(() => Promise.all(functions.splice(0).map((one) => one.stop({ deadlineMs: 0 }))))

interface Settings extends DropInOptions {
  readonly name?: string
  readonly store?: Store
}

function consumerOf(handle: (id: string) => unknown, { name = 'sms', store = memoryStore() }: Settings): Consumer {
  return defineConsumer<string, string>({
    name,
    id: ({ payload }) => payload,
    store,
    graceMs: 50,
    handle: ({ payload }) => handle(payload),
    observe: watching.observe,
  })
}

let watching = new Watching()

function made<F extends DropIn>(
  make: (consumer: Consumer, options: DropInOptions) => F,
  handle: (id: string) => unknown,
  settings: Settings = {},
): F {
  const { name: _name, store: _store, ...options } = settings
  watching = new Watching()
  const take = make(consumerOf(handle, settings), { heartbeatEveryMs: 5, ...options })
  functions.push(take)
  return take
}

const batchOf = (handle: (id: string) => unknown, settings?: Settings): EachBatch => made(eachBatch, handle, settings)
const messageOf = (handle: (id: string) => unknown, settings?: Settings): EachMessage =>
  made(eachMessage, handle, settings)

const rawOf = (id: string, offset: number): RawMessage => ({
  key: Buffer.from(id),
  value: Buffer.from(JSON.stringify(id)),
  timestamp: '0',
  offset: `${offset}`,
})

/** What kafkajs would hand over, played by the test. */
class Played implements DropInBatchPayloadLike, EachMessagePayloadLike {
  readonly topic = 'topic'
  readonly partition = 0
  readonly resolved: string[] = []
  heartbeats = 0
  commits = 0
  onHeartbeat: () => void = () => {}
  onResolve: () => void = () => {}
  onCommit: () => void = () => {}
  running = true
  readonly #messages: RawMessage[]

  constructor(...ids: readonly string[]) {
    this.#messages = ids.map((id, index) => rawOf(id, 10 + index))
  }

  get message(): RawMessage {
    return this.#messages[0] ?? rawOf('none', 0)
  }

  get batch(): DropInBatchPayloadLike['batch'] {
    const last = this.#messages.at(-1)?.offset ?? ''
    return { topic: this.topic, partition: 0, highWatermark: '99', messages: this.#messages, lastOffset: () => last }
  }

  resolveOffset(offset: string): void {
    this.onResolve()
    this.resolved.push(offset)
  }

  async heartbeat(): Promise<void> {
    this.heartbeats++
    this.onHeartbeat()
  }

  async commitOffsetsIfNecessary(): Promise<void> {
    this.commits++
    this.onCommit()
  }

  isRunning(): boolean {
    return this.running
  }

  isStale(): boolean {
    return false
  }
}

/** Beats until the test has seen enough. */
function afterBeats(played: Played, count: number): Promise<void> {
  return new Promise((resolve) => {
    played.onHeartbeat = () => {
      if (played.heartbeats >= count) resolve()
    }
  })
}

/** What a call rejects with, of which a heartbeat fails. */
async function rejectionBy(failure: Error): Promise<unknown> {
  const effect = gate()
  const played = new Played('a')
  played.onHeartbeat = () => {
    throw failure
  }
  const rejection: unknown = await messageOf(() => effect.opened)(played).catch((rejected: unknown) => rejected)
  effect.open()
  return rejection
}

class ProtocolError extends Error {
  override readonly name = 'KafkaJSProtocolError'
  readonly type = 'REBALANCE_IN_PROGRESS'
}

describe('one call of kafkajs', () => {
  it('asks for heartbeats and due commits until it returns', async () => {
    const effect = gate()
    const played = new Played('a', 'b')
    const call = batchOf((id) => (id === 'b' ? effect.opened : undefined))(played)
    await afterBeats(played, 5)
    expect(played.resolved).toEqual(['10'])
    effect.open()
    await call
    expect(played.resolved).toEqual(['10', '11'])
    expect(played.commits).toBeGreaterThanOrEqual(4)
    const { heartbeats } = played
    await new Promise((resolve) => setTimeout(resolve, 30))
    expect(played.heartbeats).toBe(heartbeats)
  })

  it('resolves the finished prefix only, as it grows', async () => {
    const effects = { a: gate(), b: gate(), c: gate() }
    const played = new Played('a', 'b', 'c')
    const call = batchOf((id) => effects[id as 'a'].opened)(played)
    effects.b.open()
    await watching.until(() => watching.ended('handled') === 1)
    expect(played.resolved).toEqual([])
    effects.a.open()
    await watching.until(() => watching.ended('handled') === 2)
    expect(played.resolved).toEqual(['11'])
    effects.c.open()
    await call
    expect(played.resolved).toEqual(['11', '12'])
  })

  it.each(['eachMessage', 'eachBatch'] as const)(
    '%s: hands an error of a heartbeat back as it is; what runs goes on and is joined by its copy',
    async (which) => {
      const effect = gate()
      const runs: string[] = []
      const handle = (id: string): unknown => {
        runs.push(id)
        return effect.opened
      }
      const take = which === 'eachBatch' ? batchOf(handle) : messageOf(handle)
      const [played, again] = [new Played('a'), new Played('a')]
      const error = new ProtocolError('the group rebalances')
      // Sooner the message would not have begun, and would be handed back.
      played.onHeartbeat = () => {
        if (runs.length > 0) throw error
      }
      await expect(take(played)).rejects.toBe(error)
      const call = take(again)
      await afterBeats(again, 2)
      effect.open()
      await call
      expect([runs, played.resolved]).toEqual([['a'], []])
      expect([watching.ended('settle-refused'), watching.ended('joined')]).toEqual([1, 1])
    },
  )

  it('once it is left, begins nothing more', async () => {
    const effect = gate()
    const runs: string[] = []
    const played = new Played('a', 'b')
    played.onHeartbeat = () => {
      throw new ProtocolError('the group rebalances')
    }
    const handle = (id: string): unknown => {
      runs.push(id)
      return effect.opened
    }
    await expect(batchOf(handle, { order: 'partition' })(played)).rejects.toThrow('the group rebalances')
    await watching.until(() => watching.ended('handed-back') === 1)
    effect.open()
    await watching.until(() => watching.ended('settle-refused') === 1)
    expect([runs, played.resolved]).toEqual([['a'], []])
  })

  it('hands an error of a commit back as it is', async () => {
    const effect = gate()
    const played = new Played('a')
    const error = new ProtocolError('the group rebalances')
    played.onCommit = () => {
      throw error
    }
    await expect(batchOf(() => effect.opened)(played)).rejects.toBe(error)
    effect.open()
    await watching.until(() => watching.ended('settle-refused') === 1)
    expect(played.resolved).toEqual([])
  })

  it('makes no TypeError of a partition that is gone (K2): that would end kafkajs for good', async () => {
    const played = new Played('a', 'b')
    played.onResolve = () => {
      throw new TypeError("Cannot set properties of undefined (setting '0')")
    }
    const rejection: unknown = await batchOf(() => {})(played).catch((error: unknown) => error)
    expect(rejection).toBeInstanceOf(LeaseLostError)
    expect(rejection).toMatchObject({ code: 'DELIVERY_LOST', name: 'LeaseLostError' })
  })

  it.each([
    ['that is a mistake of kafkajs', new TypeError('of a heartbeat')],
    ['that says that trying again is no use', { retriable: false }],
    ['of a type that kafkajs knows to be of no use', { type: 'GROUP_AUTHORIZATION_FAILED', retriable: false }],
    ['with the name of a mistake, whatever its class', { name: 'TypeError' }],
    ['with a name at which kafkajs gives up', { name: 'KafkaJSNotImplemented' }],
    ['with another such name', { name: 'KafkaJSNoBrokerAvailableError' }],
  ])('nor an error of a heartbeat %s: kafkajs would end', async (_what, given) => {
    const error = given instanceof Error ? given : Object.assign(new Error('of a heartbeat'), given)
    const rejection = await rejectionBy(error)
    expect(rejection).toMatchObject({ name: 'BrokerError', message: expect.stringContaining('of a heartbeat') })
    expect(rejection).not.toHaveProperty('retriable')
  })

  it.each(['REBALANCE_IN_PROGRESS', 'NOT_COORDINATOR_FOR_GROUP', 'ILLEGAL_GENERATION', 'UNKNOWN_MEMBER_ID'])(
    'hands %s back as it is: kafkajs joins again',
    async (type) => {
      const error = Object.assign(new Error('join again'), { type, retriable: false })
      expect(await rejectionBy(error)).toBe(error)
    },
  )

  it('beats while the store opens', async () => {
    const opening = gate()
    const slow = storeWith(() => ({ open: () => opening.opened }))
    const handled: string[] = []
    const played = new Played('a')
    const call = messageOf((id) => handled.push(id), { store: slow })(played)
    await afterBeats(played, 4)
    expect(handled).toEqual([])
    opening.open()
    await call
    expect(handled).toEqual(['a'])
  })

  it('after stop() is an error, and the store is left alone', async () => {
    const onMessage = messageOf(() => {})
    const stopping = onMessage.stop()
    expect(onMessage.stop()).toBe(stopping)
    await stopping
    await expect(onMessage(new Played('a'))).rejects.toThrow(StoppedError)
    expect(onMessage.health()).toMatchObject({ state: 'stopped', ready: false })
  })

  it('closes its producer with stop()', async () => {
    const kafka = new ClosableKafka()
    kafka.topics.push('topic.dead-letter')
    kafka.sendAnswers.push(async () => [{ topicName: 'topic.dead-letter', partition: 0, errorCode: 0 }])
    const onMessage = messageOf(() => {}, { kafka })
    await onMessage(new Played(''))
    expect([watching.ended('dead-lettered'), kafka.producers, kafka.closed]).toEqual([1, 1, 0])
    await onMessage[Symbol.asyncDispose]()
    expect(kafka.closed).toBe(1)
  })
})

class ClosableKafka extends ScriptedKafka {
  closed = 0

  override producer(config: Parameters<ScriptedKafka['producer']>[0]): ReturnType<ScriptedKafka['producer']> {
    const producer = super.producer(config)
    return Object.assign(producer, { disconnect: async () => void this.closed++ })
  }
}

describe('the group', () => {
  it('is part of the keys; where it is left out, the name of the consumer stands in for it', async () => {
    const store = memoryStore()
    const handled: string[] = []
    const take = async (group: string, settings: Settings): Promise<void> => {
      await messageOf(() => handled.push(group), { store, ...settings })(new Played('a'))
    }
    await take('one', { group: 'one' })
    await take('two', { group: 'two' })
    await take('again one', { group: 'one' })
    await take('none', {})
    await take('again none', {})
    await take('none, but its name', { group: 'sms' })
    await take('another name', { name: 'mail' })
    expect(handled).toEqual(['one', 'two', 'none', 'another name'])
  })
})

describe('what is refused', () => {
  const consumer = consumerOf(() => {}, {})
  const seeking = defineConsumer({ name: 'sms', store: new MemoryOffsets(), handle: () => {} })
  const cases: readonly (readonly [string, () => unknown, string])[] = [
    ['what is no consumer', () => eachMessage({ name: 'x' } as Consumer), 'defineConsumer'],
    ['nothing at all', () => eachBatch(undefined as unknown as Consumer), 'defineConsumer'],
    ['a store whose positions must be sought', () => eachMessage(seeking), 'runKafka'],
    [
      'a dead-letter topic that nobody publishes to',
      () => eachMessage(consumer, { deadLetter: { topic: 'd' } }),
      'with kafka only',
    ],
  ]
  it.each(cases)('%s', (_what, make, told) => {
    expect(make).toThrow(ConfigError)
    expect(make).toThrow(told)
  })

  it('a payload of the other kind, both ways, by an error that kafkajs outlives', async () => {
    const played = new Played('a')
    const { batch, topic, partition, message } = played
    const asBatch = { batch, heartbeat: async () => {} } as unknown as EachMessagePayloadLike
    const asMessage = { topic, partition, message, heartbeat: async () => {} } as unknown as DropInBatchPayloadLike
    await expect(messageOf(() => {})(asBatch)).rejects.toThrow('give eachBatch(consumer) to run({ eachBatch })')
    await expect(batchOf(() => {})(asMessage)).rejects.toThrow('give eachMessage(consumer) to run({ eachMessage })')
    await expect(batchOf(() => {})(asMessage)).rejects.toBeInstanceOf(ConfigError)
  })

  it('dead letters that another of its topics would bring back', async () => {
    const take = messageOf(() => {}, { kafka: new ScriptedKafka(), deadLetter: { topic: 'dead' } })
    await take(new Played('a'))
    const { message, partition } = new Played('a')
    const dead = { topic: 'dead', partition, message, heartbeat: async () => {} }
    await expect(take(dead)).rejects.toThrow('consumed again for ever')
    await take(new Played('b'))
  })
})

describe('a store that cannot be opened', () => {
  it.each([
    ['is down', () => new StoreError('STORE_UNREACHABLE', 'nobody there')],
    ['throws a TypeError', () => new TypeError('nobody there')],
  ])(
    '%s: each failure is reported, the batch waits with heartbeats, and is handled once it opens',
    async (_case, error) => {
      const handled: string[] = []
      const onBatch = batchOf((id) => handled.push(id), { store: failing(3, error) })
      const payload = new Played('a', 'b')
      await onBatch(payload)
      expect(handled.toSorted()).toEqual(['a', 'b'])
      expect(watching.told('store-not-opened')).toBe(3)
      expect(payload.heartbeats).toBeGreaterThan(3)
    },
  )

  it('is reported once for all partitions that wait for it', async () => {
    const onBatch = batchOf(() => {}, { store: failing(2, () => new Error('nobody there')) })
    await Promise.all([onBatch(new Played('a')), onBatch(new Played('b')), onBatch(new Played('c'))])
    expect(watching.told('store-not-opened')).toBe(2)
  })

  it('is waited for no longer when the function is stopped: the message comes again', async () => {
    const handled: string[] = []
    const onMessage = messageOf((id) => handled.push(id), { store: failing(1_000, () => new Error('nobody there')) })
    const taken = onMessage(new Played('a'))
    taken.catch(() => {})
    await watching.until(() => watching.told('store-not-opened') > 0)
    expect(onMessage.health()).toMatchObject({ ready: false, checks: { store: 'not open' } })
    await onMessage.stop({ deadlineMs: 0 })
    await expect(taken).rejects.toBeInstanceOf(StoppedError)
    expect(handled).toEqual([])
  })
})

/** A store whose first openings fail. */
function failing(failures: number, error: () => Error): Store {
  let opened = 0
  return storeWith((store) => ({
    open: async () => {
      if (++opened <= failures) throw error()
      return store.open()
    },
  }))
}
