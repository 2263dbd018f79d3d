import { eventually } from '../kit/eventually.ts'
import { Watching } from '../kit/recording-intake.ts'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { runRabbit, type RabbitConnect, type RabbitOptions } from '../../adapters/amqplib/index.ts'
import {
  StoreError,
  defineConsumer,
  messageId,
  type ConsumerSettings,
  type HandlerContext,
  type Message,
  type Running,
  type Store,
} from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { startFaultProxy, type FaultProxy } from '../kit/fault-proxy.ts'
import { SERVER_WITHIN_MS } from '../kit/servers/server.ts'
import { Rabbit } from './rabbit.ts'
import { Tap } from './tap.ts'
import { Gate, bodies } from './watching.ts'

let rabbit: Rabbit
let proxy: FaultProxy
let started: Running[] = []

beforeAll(async () => {
  rabbit = await Rabbit.open()
  proxy = await startFaultProxy(Number(new URL(rabbit.url).port || 5672))
}, SERVER_WITHIN_MS)
afterEach(async () => {
  await Promise.all(started.map((running) => running.stop({ deadlineMs: 1 })))
  started = []
})
afterAll(async () => {
  await proxy.stop()
  await rabbit[Symbol.asyncDispose]()
})

function viaProxy(): string {
  const url = new URL(rabbit.url)
  url.port = String(proxy.port)
  return url.href
}

type Handle = (context: HandlerContext<string>) => unknown

async function run(
  options: RabbitOptions,
  handle: Handle,
  {
    connect = rabbit.url,
    store = memoryStore(),
    ...settings
  }: { readonly connect?: RabbitConnect } & Partial<ConsumerSettings<string, string, never>> = {},
): Promise<{ readonly running: Running; readonly watching: Watching }> {
  const watching = new Watching()
  const consumer = defineConsumer<string>({
    name: 'test',
    id: messageId.property(),
    decode: (value) => Buffer.from(value ?? []).toString(),
    store,
    backoff: { initialMs: 5, maxMs: 20 },
    graceMs: 100,
    observe: watching.observe,
    handle,
    ...settings,
  })
  const running = await runRabbit(connect, consumer, options)
  started.push(running)
  return { running, watching }
}

function firstDeadLetter({ value }: Message): string {
  return Buffer.from(value ?? []).toString('utf8', 0, 1)
}

describe('a consumer on RabbitMQ', () => {
  it('handles each message once and acks it, in few frames', async () => {
    const queue = rabbit.name()
    const tap = new Tap(rabbit.url)
    const seen: string[] = []
    const { running, watching } = await run({ queue }, ({ payload }) => seen.push(payload), { connect: tap.connect })
    await rabbit.send(queue, bodies(1000))
    await rabbit.send(queue, bodies(10))
    await watching.until(() => watching.events.filter(({ type }) => type === 'delivery').length === 1010)
    expect(watching.outcomes()).toEqual({ handled: 1000, duplicate: expect.any(Number) })
    expect(new Set(seen)).toEqual(new Set(bodies(1000)))
    expect(seen).toHaveLength(1000)
    await running.stop()
    expect(await rabbit.takeLeft(queue)).toEqual([])
    expect(tap.consuming[0]?.frames.length).toBeLessThan(500)
  })

  it('keeps the order of a lane', async () => {
    const queue = rabbit.name()
    const seen: string[] = []
    const { watching } = await run({ queue, lane: firstDeadLetter }, async ({ payload }) => {
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 3))
      seen.push(payload)
    })
    const sent = bodies(50, 'a').flatMap((body, index) => [body, `b${index}`])
    await rabbit.send(queue, sent)
    await watching.untilOutcomes('handled', 100)
    expect(seen.filter((body) => body.startsWith('a'))).toEqual(bodies(50, 'a'))
    expect(seen.filter((body) => body.startsWith('b'))).toEqual(bodies(50, 'b'))
  })

  it.each<[string, Handle]>([
    [
      'throws at once',
      () => {
        throw new Error('no')
      },
    ],
    ['rejects', () => Promise.reject(new Error('no'))],
    // eslint-disable-next-line typescript/prefer-promise-reject-errors
    ['rejects with something that is no error', () => Promise.reject('no')],
  ])('dead-letters after the last attempt what a handler %s on, and goes on', async (_how, failing) => {
    const queue = rabbit.name()
    let starts = 0
    const handle: Handle = (context) => {
      if (context.payload !== 'bad') return undefined
      starts++
      return failing(context)
    }
    const { running, watching } = await run({ queue }, handle, { maxAttempts: 3 })
    await rabbit.send(queue, ['bad', 'good'])
    await watching.untilOutcomes('dead-lettered', 1)
    await watching.untilOutcomes('handled', 1)
    expect(starts).toBe(3)
    expect(running.health()).toMatchObject({ live: true, ready: true })
    await running.stop()
    const { body, properties } = await rabbit.take(`${queue}.dead-letter`)
    expect(body).toBe('bad')
    expect(properties.messageId).toBe('bad')
    expect(properties.headers).toMatchObject({
      'consume-once-reason': 'attempts-spent',
      'consume-once-detail': 'no',
      'consume-once-attempts': 3,
      'consume-once-consumer': 'test',
      'consume-once-origin-queue': queue,
    })
    expect(await rabbit.takeLeft(queue)).toEqual([])
  })

  it('dead-letters what has no ID, and what conflicts, and runs no handler', async () => {
    const queue = rabbit.name()
    const { watching } = await run({ queue }, () => {})
    await rabbit.send(queue, ['one'], { messageId: 'same' })
    await watching.untilOutcomes('handled', 1)
    await rabbit.send(queue, ['other'], { messageId: 'same' })
    await rabbit.send(queue, ['nameless'], { isNameless: true })
    await watching.untilOutcomes('dead-lettered', 2)
    const deadLetters = [await rabbit.take(`${queue}.dead-letter`), await rabbit.take(`${queue}.dead-letter`)]
    expect(deadLetters.map(({ body, properties }) => [body, properties.headers?.['consume-once-reason']])).toEqual(
      expect.arrayContaining([
        ['other', 'conflict'],
        ['nameless', 'no-id'],
      ]),
    )
  })

  it('keeps the original while the dead-letter queue is missing', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue)
    const { watching, running } = await run({ queue, setup: 'off' }, () => {}, {})
    await rabbit.send(queue, ['nameless'], { isNameless: true })
    await watching.untilTold('publish-failed', 2)
    expect(watching.outcomes()).toEqual({})
    await rabbit.declare(`${queue}.dead-letter`)
    await watching.untilOutcomes('dead-lettered', 1)
    await running.stop()
    expect((await rabbit.takeLeft(`${queue}.dead-letter`)).map(({ body }) => body)).toEqual(['nameless'])
    expect(await rabbit.takeLeft(queue)).toEqual([])
  })

  it('runs once what is redelivered while its handler runs, and acks the new delivery', async () => {
    const queue = rabbit.name()
    const finish = new Gate()
    let starts = 0
    let aborts = 0
    const handle: Handle = async ({ signal }) => {
      starts++
      signal.addEventListener('abort', () => aborts++)
      await finish.opened
    }
    const tap = new Tap(viaProxy())
    const { running, watching } = await run({ queue }, handle, { connect: tap.connect })
    await rabbit.send(queue, bodies(3))
    await eventually(() => starts === 3)
    proxy.cut()
    await watching.untilTold('rebuilt')
    await eventually(() => tap.consuming[1]?.delivered === 3)
    expect(aborts).toBe(3)
    await rabbit.send(queue, ['after'])
    await eventually(() => starts === 4)
    finish.open()
    await watching.untilOutcomes('joined', 3)
    await watching.untilOutcomes('handled', 1)
    expect(watching.outcomes()).toEqual({ 'settle-refused': 3, joined: 3, handled: 1 })
    await running.stop()
    expect(starts).toBe(4)
    expect(tap.consuming[0]?.frames).toEqual([])
    expect(await rabbit.takeLeft(queue)).toEqual([])
  })

  it('still consumes after a reconnect while a handler of the old channel hangs for ever', async () => {
    const queue = rabbit.name()
    const never = new Promise<void>(() => {})
    const seen: string[] = []
    const { watching } = await run({ queue }, ({ payload }) => (payload === 'stuck' ? never : seen.push(payload)), {
      connect: viaProxy(),
    })
    await rabbit.send(queue, ['stuck'])
    await eventually(async () => (await rabbit.ready(queue)) === 0)
    proxy.cut()
    await watching.untilTold('rebuilt')
    await rabbit.send(queue, bodies(20))
    await watching.untilOutcomes('handled', 20)
    expect(seen).toEqual(expect.arrayContaining(bodies(20)))
  })

  it('stops delivering while the store is down, and resumes by itself [T73]', async () => {
    const queue = rabbit.name()
    const memory = memoryStore()
    let isDown = false
    const store: Store = {
      strategy: 'lease',
      open: () => memory.open(),
      claim: (request) =>
        isDown ? Promise.reject(new StoreError('STORE_UNREACHABLE', 'down')) : memory.claim(request),
      renew: (...args) => memory.renew(...args),
      mark: (claims) => memory.mark(claims),
      release: (...args) => memory.release(...args),
      setAside: (...args) => memory.setAside(...args),
    }
    const { running, watching } = await run({ queue, prefetch: 10 }, () => {}, { store, concurrency: 10 })
    isDown = true
    await rabbit.send(queue, bodies(50))
    await watching.untilTold('store-down')
    await eventually(async () => (await rabbit.ready(queue)) === 40)
    expect(running.health()).toMatchObject({ live: true, ready: false })
    isDown = false
    await watching.untilOutcomes('handled', 50)
    expect(running.health().ready).toBe(true)
  })

  it('stops past its deadline: aborts, and leaves the message to the next', async () => {
    const queue = rabbit.name()
    const never = new Promise<void>(() => {})
    let starts = 0
    const { running, watching } = await run({ queue }, ({ payload }) => {
      starts++
      return payload === 'stuck' ? never : undefined
    })
    await rabbit.send(queue, ['stuck', 'good'])
    await watching.untilOutcomes('handled', 1)
    await eventually(() => starts === 2)
    const stopping = running.stop({ deadlineMs: 20 })
    expect(running.stop()).toBe(stopping)
    await stopping
    expect(running.state).toBe('stopped')
    expect((await rabbit.takeLeft(queue)).map(({ body }) => body)).toEqual(['stuck'])
  })

  it('loses nothing and repeats no effect over cuts, channel closes and restarts at random', async () => {
    const queue = rabbit.name()
    const store = memoryStore()
    const effects = new Map<string, number>()
    const all = bodies(2000)
    const tap = new Tap(viaProxy())
    const start = (connect: RabbitConnect): ReturnType<typeof run> =>
      run(
        { queue, prefetch: 100 },
        async ({ payload }) => {
          await new Promise((resolve) => setTimeout(resolve, Math.random() * 5))
          effects.set(payload, (effects.get(payload) ?? 0) + 1)
        },
        { store, connect },
      )
    let current = await start(tap.connect)
    const sending = rabbit.send(queue, all)
    for (let round = 0; effects.size < all.length && round < 200; round++) {
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 150))
      if (round % 3 === 0) proxy.cut()
      if (round % 3 === 1)
        tap.consuming
          .at(-1)
          ?.channel.close()
          .catch(() => {})
      if (round % 6 === 5) {
        await current.running.stop()
        current = await start(tap.connect)
      }
    }
    await sending
    await current.running.stop()
    // What the last fault left behind comes before this one.
    const { running, watching } = await start(rabbit.url)
    await rabbit.send(queue, ['last'])
    await eventually(() => effects.has('last') && effects.size > all.length)
    await watching.untilTold('settles')
    await running.stop()
    effects.delete('last')
    expect(effects.size).toBe(all.length)
    expect([...effects.values()].filter((count) => count > 1)).toEqual([])
    expect(await rabbit.takeLeft(queue)).toEqual([])
  }, 60_000)
})
