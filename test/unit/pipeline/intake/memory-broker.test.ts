import { afterEach, describe, expect, it } from '@jest/globals'
import { defineConsumer, type Consumer } from '../../../../src/consumer/define-consumer.ts'
import { ConfigError } from '../../../../src/foundation/errors.ts'
import type { Running } from '../../../../src/ports/lifecycle.ts'
import { MemoryBroker } from '../../../../src/memory/broker.ts'
import { runMemory } from '../../../../src/memory/run.ts'
import { memoryStore } from '../../../../src/memory/store.ts'
import { messageId } from '../../../../src/identity/message-id.ts'
import type { HandlerContext } from '../../../../src/consumer/options.ts'
import type { ObserverEvent } from '../../../../src/ports/observer.ts'
import { turns } from '../../../kit/manual-clock.ts'
import { aborted, gate } from '../../../kit/rig.ts'

const running = new Set<Running>()
const PLACE = { topic: 'sms', group: 'sender' }

afterEach(async () => {
  for (const one of running) await one.stop({ deadlineMs: 0 })
  running.clear()
})

describe('a source in memory', () => {
  it.each(['', ' ', 'a\u0000', 'a\u009B2J', 'a\u202Eb'])('is refused for a topic or a group named %j', (name) => {
    const broker = new MemoryBroker()
    expect(() => broker.source(name, 'g')).toThrow(ConfigError)
    expect(() => broker.source('t', name)).toThrow('group: expected text')
  })
})

describe('runMemory', () => {
  const consumer = defineConsumer({ name: 'consumer', store: memoryStore(), handle: () => {} })

  it('refuses an unknown option', async () => {
    const options = { topic: 'sms', group: 'sender', topik: 'x' }
    await expect(runMemory(new MemoryBroker(), consumer, options)).rejects.toThrow(
      'topik: unknown option; did you mean topic?',
    )
  })

  it('refuses no options', async () => {
    const none = undefined as unknown as typeof PLACE
    await expect(runMemory(new MemoryBroker(), consumer, none)).rejects.toThrow('topic: expected text, got undefined')
  })
})

async function run(
  broker: MemoryBroker,
  handle: (context: HandlerContext<unknown>) => unknown,
  {
    store = memoryStore(),
    observe,
  }: { store?: ReturnType<typeof memoryStore>; observe?: (event: ObserverEvent) => void } = {},
): Promise<Running> {
  const consumer = defineConsumer({
    name: 'consumer',
    store,
    id: messageId.header('id'),
    graceMs: 1,
    handle,
    ...(observe === undefined ? {} : { observe }),
  })
  const started = await runMemory(broker, consumer, PLACE)
  running.add(started)
  return started
}

function publish(broker: MemoryBroker, id: string, key: string | null = null): void {
  broker.publish('sms', { key: key === null ? null : Buffer.from(key), value: Buffer.from('{}'), headers: { id } })
}

describe('the broker in memory', () => {
  it('delivers what was published before and after, in order for each key', async () => {
    const broker = new MemoryBroker()
    const seen: string[] = []
    for (let n = 0; n < 600; n++) publish(broker, `a${n}`, 'a')
    await run(broker, ({ message }) => seen.push(String(message.headers['id'])))
    for (let n = 600; n < 1_000; n++) publish(broker, `a${n}`, 'a')
    await broker.drained('sms', 'sender')
    expect(seen).toEqual(Array.from({ length: 1_000 }, (_, n) => `a${n}`))
  })

  it('delivers again from the committed offset after a rebalance; the running handler is joined', async () => {
    const broker = new MemoryBroker({ partitions: 1 })
    const held = gate()
    const outcomes: string[] = []
    let runs = 0
    await run(
      broker,
      async () => {
        runs++
        await held.opened
      },
      { observe: (event) => void (event.type === 'delivery' && outcomes.push(event.outcome)) },
    )
    publish(broker, 'a')
    await turns()
    broker.rebalance('sms', 'sender')
    await turns()
    held.open()
    await broker.drained('sms', 'sender')
    expect(runs).toBe(1)
    expect(outcomes).toEqual(['settle-refused', 'joined'])
  })

  it('gives the rest to the next consumer of the group, and the first one settles nothing more', async () => {
    const broker = new MemoryBroker({ partitions: 1 })
    const store = memoryStore()
    const held = gate()
    const outcomes: string[] = []
    await run(
      broker,
      async ({ signal }) => {
        await aborted(signal)
        await held.opened
      },
      { store, observe: (event) => void (event.type === 'delivery' && outcomes.push(event.outcome)) },
    )
    publish(broker, 'a')
    await turns()
    const seen: unknown[] = []
    await run(broker, ({ message }) => seen.push(message.headers['id']), { store })
    publish(broker, 'b')
    held.open()
    await broker.drained('sms', 'sender')
    expect(seen).toEqual(['b'])
    expect(outcomes).toEqual(['settle-refused'])
  })

  it('aborts what runs in a process that it has cut off, also after a rebalance', async () => {
    const broker = new MemoryBroker({ partitions: 1 })
    const reasons: Error[] = []
    await run(broker, async ({ signal }) => void reasons.push(await aborted(signal)))
    publish(broker, 'a')
    await turns()
    broker.rebalance('sms', 'sender')
    // Cut off before the copy of the new epoch is delivered.
    broker.kill('sms', 'sender')
    await turns()
    expect(reasons).toMatchObject([{ code: 'DELIVERY_LOST' }])
  })

  it('aborts what still runs when it is cut off during a stop', async () => {
    const broker = new MemoryBroker({ partitions: 1 })
    const reasons: Error[] = []
    const one = await run(broker, async ({ signal }) => void reasons.push(await aborted(signal)))
    publish(broker, 'a')
    await turns()
    const stopping = one.stop({ deadlineMs: 60_000 })
    await turns()
    broker.kill('sms', 'sender')
    await stopping
    expect(reasons).toMatchObject([{ code: 'DELIVERY_LOST' }])
  })

  it('reports every settle, also those of a stop', async () => {
    const broker = new MemoryBroker({ partitions: 1 })
    const held = gate()
    let settles = 0
    const one = await run(broker, () => held.opened, {
      observe: (event) => void (event.type === 'settles' && (settles += event.count)),
    })
    publish(broker, 'a')
    publish(broker, 'b')
    await turns()
    const stopping = one.stop()
    held.open()
    await stopping
    expect(settles).toBe(2)
  })

  it('delivers again what is not settled, when it is asked to', async () => {
    const broker = new MemoryBroker()
    const held = gate()
    let runs = 0
    await run(broker, async () => {
      runs++
      await held.opened
    })
    publish(broker, 'a')
    await turns()
    expect(broker.redeliver('sms', 'sender')).toBe(1)
    held.open()
    await broker.drained('sms', 'sender')
    expect(broker.redeliver('sms', 'sender')).toBe(0)
    expect(runs).toBe(1)
  })

  it('wants a topic and a group', async () => {
    const consumer = defineConsumer({ name: 'c', store: memoryStore(), handle: () => {} })
    await expect(runMemory(new MemoryBroker(), consumer, { topic: '', group: 'g' })).rejects.toThrow(ConfigError)
  })

  it.each([
    ['nothing', undefined],
    ['null', null],
    ['options that went through no defineConsumer', { name: 'c', store: memoryStore(), handle: () => {} }],
  ])('wants what defineConsumer returned, not %s', async (_, consumer) => {
    const started = runMemory(new MemoryBroker(), consumer as unknown as Consumer, PLACE)
    await expect(started).rejects.toThrow(ConfigError)
    await expect(started).rejects.toThrow('expected what defineConsumer() returned')
  })
})

describe('start', () => {
  it('leaves nothing running when the store cannot be opened', async () => {
    const broker = new MemoryBroker()
    const store = Object.assign(Object.create(memoryStore()) as ReturnType<typeof memoryStore>, {
      open: () => Promise.reject(new Error('no store')),
    })
    await expect(run(broker, () => {}, { store })).rejects.toThrow('no store')
    publish(broker, 'a')
    await turns()
    expect(broker.redeliver('sms', 'sender')).toBe(0)
  })
})
