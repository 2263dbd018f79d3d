import { eventually } from '../../test/kit/eventually.ts'
import { Watching } from '../../test/kit/recording-intake.ts'
import { afterEach, describe, expect, it } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { Redis } from 'ioredis'
import { runRabbit } from '../../adapters/amqplib/index.ts'
import { redisLease } from '../../adapters/redis/index.ts'
import { postgresInbox, type PgTransaction } from '../../adapters/pg/index.ts'
import { defineConsumer, messageId, type Consumer, type ConsumerSettings, type Running } from '../../src/index.ts'
import { backends } from '../../test/kit/backends.ts'
import { startProxyOf, type FaultProxy } from '../../test/kit/fault-proxy.ts'
import { startPrivateRabbit } from '../../test/kit/servers/private-rabbit.ts'
import { server } from '../../test/kit/servers/server.ts'
import { Rabbit } from '../../test/rabbitmq/rabbit.ts'
import { bodies } from '../../test/rabbitmq/watching.ts'
import { newPlace, type PgPlace } from '../../test/pg/support.ts'
import { redisHarness, type RedisHarness } from '../../test/redis/harness.ts'

const isWanted = backends.has('rabbitmq')
const started: Running[] = []
const proxies: FaultProxy[] = []
const clients: Redis[] = []
let broker: Awaited<ReturnType<typeof startPrivateRabbit>>
let rabbit: Rabbit
let redis: RedisHarness
let place: PgPlace

/** Time limit of the broker for unsettled deliveries. This broker checks every half second, not every minute. */
const CONSUMER_TIMEOUT_MS = 2_000

/** All of it ends before the consumer timeout. */
const SHORT = { leaseMs: 900, handlerTimeoutMs: 500, graceMs: 100 }

beforeAllOpen(async (own) => {
  if (!isWanted) return
  const conf = `consumer_timeout = ${CONSUMER_TIMEOUT_MS}`
  broker = own(await startPrivateRabbit({ conf, advanced: '[{rabbit, [{channel_tick_interval, 500}]}].\n' }))
  rabbit = own(await Rabbit.open(broker.url))
  redis = own(await redisHarness((await server('redis')).url))
  place = own(await newPlace())
  own(() => Promise.all(proxies.map((proxy) => proxy.stop())))
  own(() => clients.forEach((client) => client.disconnect()))
})
afterEach(() => Promise.all(started.splice(0).map((running) => running.stop({ deadlineMs: 100 }))))

interface Stored {
  readonly consumer: Consumer
  readonly proxy: FaultProxy
  readonly effects: () => Promise<readonly string[]>
}

/** A URL of the server that leads over a proxy. */
async function overProxy(url: string): Promise<{ readonly proxy: FaultProxy; readonly url: string }> {
  const proxy = await startProxyOf(url, url.startsWith('redis:') ? 6379 : 5432)
  proxies.push(proxy)
  return { proxy, url: proxy.url }
}

const STORES: Readonly<Record<'lease' | 'inbox', (settings: Settings) => Promise<Stored>>> = {
  lease: async (settings) => {
    const { proxy, url } = await overProxy((await server('redis')).url)
    const client = new Redis(url, { maxRetriesPerRequest: 1 })
    client.on('error', () => {})
    clients.push(client)
    const done: string[] = []
    const store = redisLease({ redis: client, prefix: redis.prefix })
    const handle = ({ payload }: { payload: string }): unknown => done.push(payload)
    return { proxy, effects: async () => done, consumer: defineConsumer<string>({ ...settings, store, handle }) }
  },
  inbox: async (settings) => {
    const { proxy, url } = await overProxy((await server('postgres')).url)
    const pool = place.newPool({ connectionString: url })
    pool.on('error', () => {})
    const consumer = defineConsumer<string, string, PgTransaction>({
      ...settings,
      store: postgresInbox({ pool, schema: place.schema }),
      handle: ({ payload, tx }) => place.write(tx, payload),
    })
    const effects = async (): Promise<readonly string[]> => {
      const { rows } = await place.pool.query<{ name: string }>(`select name from ${place.schema}.effect`)
      return rows.map(({ name }) => name)
    }
    return { proxy, effects, consumer }
  },
}

type Settings = Omit<ConsumerSettings<string, string, never>, 'store' | 'onInDoubt'>

/** The store is away until the broker has taken the deliveries back twice. */
async function outlast(strategy: 'lease' | 'inbox', queueType: 'quorum' | 'classic'): Promise<void> {
  const [queue, watching] = [rabbit.name(), new Watching()]
  const { consumer, proxy, effects } = await STORES[strategy]({
    name: `down-${queueType}`,
    id: messageId.property(),
    decode: (value) => Buffer.from(value ?? []).toString(),
    observe: watching.observe,
    ...SHORT,
  })
  const running = await runRabbit(broker.url, consumer, { queue, queueType, consumerTimeoutMs: CONSUMER_TIMEOUT_MS })
  started.push(running)
  const [before, during] = [bodies(5, `${queue} before`), bodies(50, `${queue} during`)]
  await rabbit.send(queue, before)
  await watching.untilOutcomes('handled', before.length)

  proxy.refuse()
  proxy.cut()
  await rabbit.send(queue, during)
  await watching.untilTold('store-down')
  const timeouts = (): number => watching.told('channel-closed') + watching.told('consumer-cancelled')
  // From 4.3 classic queues have no consumer timeout.
  const least = queueType === 'classic' && rabbit.isAtLeast(4, 3) ? 0 : 2
  await watching.until(() => timeouts() >= least)
  expect(running.health()).toMatchObject({ live: true, ready: false })
  proxy.accept()
  const own = async (): Promise<string[]> => (await effects()).filter((text) => text.startsWith(queue))
  await eventually(async () => (await own()).length >= before.length + during.length)
  await watching.untilTold('store-up')
  // On a slow machine the broker takes deliveries back once more after the store is up: they come again, and are settled as duplicates.
  await eventually(async () => {
    const { ready, inFlight } = running.health()
    return ready && inFlight === 0 && (await rabbit.ready(queue)) === 0
  })
  await running.stop()
  expect((await own()).toSorted()).toEqual([...before, ...during].toSorted())
  expect(await rabbit.takeLeft(queue)).toEqual([])
  expect(await rabbit.takeLeft(`${queue}.dead-letter`)).toEqual([])
}

describe('a store that is down for longer than the consumer timeout of the broker', () => {
  // oxlint-disable-next-line jest/expect-expect -- outlast() expects
  it.each(['lease', 'inbox'] as const)(
    'is waited for, however often the broker takes its deliveries back; then nothing is lost, and each has one effect: %s',
    async (strategy) => {
      await Promise.all([outlast(strategy, 'quorum'), outlast(strategy, 'classic')])
    },
    60_000,
  )
})
