import { describe, expect, it } from '@jest/globals'
import type { ReplayItem } from '../../src/internal.ts'
import { openedOnce } from '../kit/opened.ts'
import { eventually } from '../kit/eventually.ts'
import { startProxyOf } from '../kit/fault-proxy.ts'
import { Rabbit } from './rabbit.ts'
import { Reader } from './reader.ts'
import { placesAt, readAll, settleAll, textOf } from './replay.ts'

let rabbit: Rabbit

openedOnce(Rabbit, (made) => (rabbit = made))

const TEXTS = Array.from({ length: 10 }, (_, n) => `m${n}`)
const TYPES = ['quorum', 'classic'] as const

async function filled(type: 'quorum' | 'classic', texts: readonly string[] = TEXTS): Promise<string> {
  const queue = rabbit.name()
  await rabbit.declare(queue, kindOf(type))
  await rabbit.send(queue, texts)
  await eventually(async () => (await rabbit.ready(queue)) === texts.length)
  return queue
}

/** Without a limit where a limit is the default, and -1 is no trap. */
function kindOf(type: 'quorum' | 'classic'): Record<string, unknown> {
  return { 'x-queue-type': type, ...(type === 'quorum' && rabbit.limitsDeliveries ? { 'x-delivery-limit': -1 } : {}) }
}

async function bodiesLeft(queue: string): Promise<readonly string[]> {
  return (await rabbit.takeLeft(queue)).map(({ body }) => body)
}

describe.each(TYPES)('a %s queue', (type) => {
  it('is read up to the messages it had at the start, and gets all of them back in their order', async () => {
    const queue = await filled(type)
    const reader = await placesAt(rabbit.url, queue).open(queue)
    const range = await reader.range({})
    expect(range.parts).toEqual([{ part: queue, from: '0', to: '10' }])
    await rabbit.send(queue, ['late'])
    const items = await readAll(reader, range, 3)
    expect(items.map(textOf)).toEqual(TEXTS)
    expect(items.map(({ position }) => position)).toEqual(TEXTS.map((_, n) => String(n)))
    expect(items[0]?.message).toMatchObject({ messageId: 'm0', destination: queue, origin: queue, system: 'rabbitmq' })
    await settleAll(items, 'return')
    expect(await rabbit.ready(queue)).toBe(1)
    await reader.close()
    expect(await bodiesLeft(queue)).toEqual([...TEXTS, 'late'])
  })

  it('keeps acknowledged messages out, and gets back the ones that nobody settled', async () => {
    const queue = await filled(type)
    const reader = await placesAt(rabbit.url, queue).open(queue)
    const items = await readAll(reader, await reader.range({}))
    await settleAll(
      items.filter((_, n) => n % 2 === 0),
      'done',
    )
    await reader.close()
    expect(await bodiesLeft(queue)).toEqual(['m1', 'm3', 'm5', 'm7', 'm9'])
  })

  it('loses no acknowledgement of 100 to the close', async () => {
    const texts = Array.from({ length: 200 }, (_, n) => `m${n}`)
    const queue = await filled(type, texts)
    const reader = await placesAt(rabbit.url, queue).open(queue)
    const items = await readAll(reader, await reader.range({}), 100)
    for (const [n, item] of items.entries()) await item.settle?.(n % 2 === 0 ? 'done' : 'return')
    await reader.close()
    expect(await bodiesLeft(queue)).toEqual(texts.filter((_, n) => n % 2 === 1))
  })

  it('loses no acknowledgement of 100 to a broker that reads late', async () => {
    const texts = Array.from({ length: 100 }, (_, n) => `m${n}`)
    const queue = await filled(type, texts)
    await using proxy = await startProxyOf(rabbit.url, 5672)
    const reader = await placesAt(proxy.url, queue).open(queue)
    const items = await readAll(reader, await reader.range({}), 100)
    proxy.freeze()
    await settleAll(items.toReversed(), 'done')
    const closed = reader.close()
    await new Promise((resolve) => setTimeout(resolve, 300)) // More than a calm broker needs.
    proxy.thaw()
    await closed
    expect(await bodiesLeft(queue)).toEqual([])
  })

  it('ends at the most messages asked for', async () => {
    const queue = await filled(type)
    const reader = await placesAt(rabbit.url, queue).open(queue)
    const range = await reader.range({ max: 4 })
    expect(range.parts[0]?.to).toBe('4')
    expect((await readAll(reader, range)).map(textOf)).toEqual(['m0', 'm1', 'm2', 'm3'])
    await reader.close()
  })

  it('ends when others have taken the rest, without waiting', async () => {
    const queue = await filled(type)
    const reader = await placesAt(rabbit.url, queue).open(queue)
    const range = await reader.range({})
    await rabbit.take(queue)
    expect((await readAll(reader, range)).map(textOf)).toEqual(TEXTS.slice(1))
    await reader.close()
  })

  it('gets everything back when the connection is lost, and the reading fails', async () => {
    const queue = await filled(type)
    await using proxy = await startProxyOf(rabbit.url, 5672)
    const reader = await placesAt(proxy.url, queue).open(queue)
    const range = await reader.range({})
    const batches = reader.read(range, { signal: new AbortController().signal, ahead: 2 })[Symbol.asyncIterator]()
    const { value: first } = (await batches.next()) as IteratorYieldResult<readonly ReplayItem[]>
    proxy.cut()
    await expect(batches.next()).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' })
    await expect(settleAll(first, 'done')).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' })
    await reader.close()
    await eventually(async () => (await rabbit.ready(queue)) === TEXTS.length)
  })
})

describe('the reader of a queue', () => {
  it('stops when it is told to, between two messages', async () => {
    const queue = await filled('classic')
    const reader = await placesAt(rabbit.url, queue).open(queue)
    const stop = new AbortController()
    const got: string[] = []
    for await (const batch of reader.read(await reader.range({}), { signal: stop.signal, ahead: 2 })) {
      got.push(...batch.map(textOf))
      stop.abort()
    }
    expect(got).toEqual(['m0', 'm1'])
    await reader.close()
    expect(await bodiesLeft(queue)).toEqual(TEXTS)
  })

  it('refuses to acknowledge a message that its close has handed back', async () => {
    const queue = await filled('classic')
    const reader = await placesAt(rabbit.url, queue).open(queue)
    const [first] = await readAll(reader, await reader.range({}))
    await reader.close()
    await expect(settleAll([first as ReplayItem], 'done')).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' })
  })

  it('refuses times and positions, which a queue does not have', async () => {
    const queue = await filled('classic')
    const reader = await placesAt(rabbit.url, queue).open(queue)
    for (const asked of [{ since: 1 }, { until: 1 }, { from: 1n }, { to: 1n }]) {
      await expect(reader.range(asked)).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    }
    await reader.close()
  })

  it('refuses a queue that does not exist, and a name that is none', async () => {
    const places = placesAt(rabbit.url, rabbit.name())
    await expect(places.open(rabbit.name())).rejects.toThrow(/expected to exist/)
    await expect(places.open('')).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    await expect(places.open('a\nb')).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  })

  it('refuses a broker that cannot be reached', async () => {
    const places = placesAt('amqp://guest:secret@127.0.0.1:1', 'emails')
    await expect(places.open('emails')).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' })
    await expect(places.open('emails')).rejects.not.toThrow(/secret/)
  })

  it('refuses a stream, and says what to do', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue, { 'x-queue-type': 'stream' })
    const opening = placesAt(rabbit.url, queue).open(queue)
    await expect(opening).rejects.toMatchObject({ code: 'REPLAY_REFUSED' })
    await expect(opening).rejects.toThrow('export the messages to a file')
  })

  it('refuses a queue whose single active consumer runs, and reads it when the consumer has stopped', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue, { ...kindOf('quorum'), 'x-single-active-consumer': true })
    const consumer = await Reader.open(rabbit.url, queue)
    const places = placesAt(rabbit.url, queue)
    await expect(places.open(queue)).rejects.toMatchObject({ code: 'REPLAY_REFUSED' })
    await consumer.close()
    await rabbit.send(queue, ['m'])
    await eventually(async () => (await rabbit.ready(queue)) === 1 && (await rabbit.consumers(queue)) === 0)
    const reader = await places.open(queue)
    expect((await readAll(reader, await reader.range({}))).map(textOf)).toEqual(['m'])
    await reader.close()
  })

  it('fails when the queue is deleted while it is read', async () => {
    const queue = await filled('quorum')
    const reader = await placesAt(rabbit.url, queue).open(queue)
    const range = await reader.range({})
    await rabbit.delete(queue)
    await expect(readAll(reader, range)).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' })
    await reader.close()
  })

  it('names the dead-letter queue of the consumer', () => {
    expect(placesAt(rabbit.url, 'emails')).toMatchObject({ system: 'rabbitmq', deadLetters: ['emails.dead-letter'] })
  })
})

describe('what looking costs', () => {
  it('is told for a quorum queue by the version of the server', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue, { 'x-queue-type': 'quorum', 'x-delivery-limit': 7 })
    const reader = await placesAt(rabbit.url, queue).open(queue)
    const { warnings } = await reader.range({})
    const counted = rabbit.isAtLeast(4, 3) ? 'does not count a message that is handed back' : 'counts each look'
    expect(warnings.join(' ')).toContain(counted)
    expect(warnings.join(' ')).toContain('its delivery limit is 7, and the broker drops')
    await reader.close()
  })

  it('is a changed order for a classic queue, and no delivery', async () => {
    const queue = await filled('classic')
    const reader = await placesAt(rabbit.url, queue).open(queue)
    const { warnings } = await reader.range({})
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toContain('redelivered')
    await reader.close()
  })

  it.each([
    ['within two of the delivery limit', 2],
    ['that the broker would drop when it comes back', 4],
  ])('refuses a message %s, and keeps it in the queue', async (_what, returns) => {
    const queue = rabbit.name()
    await rabbit.declare(queue, { 'x-queue-type': 'quorum', 'x-delivery-limit': 4 })
    await rabbit.send(queue, ['m'], { contentType: 'text/plain', headersOf: () => ({ tenant: 'a' }) })
    for (let n = 0; n < returns; n++) {
      await rabbit.ask(async (channel) => {
        await eventually(async () => (await rabbit.ready(queue)) === 1)
        const message = await channel.get(queue)
        if (message !== false) channel.reject(message, true)
        await eventually(async () => (await rabbit.ready(queue)) === 1)
      })
    }
    const reader = await placesAt(rabbit.url, queue).open(queue)
    const reading = readAll(reader, await reader.range({}))
    await expect(reading).rejects.toMatchObject({ code: 'REPLAY_REFUSED' })
    await expect(reading).rejects.toThrow(`come back ${returns} times, and the delivery limit is 4`)
    await reader.close()
    const [left, ...others] = await rabbit.takeLeft(queue)
    expect(left).toMatchObject({ body: 'm', properties: { messageId: 'm', contentType: 'text/plain' } })
    expect(left?.properties.headers).toMatchObject({ tenant: 'a' })
    expect(others).toEqual([])
  })
})
