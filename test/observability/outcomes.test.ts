import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Redis } from 'ioredis'
import { Registry } from 'prom-client'
import { defineConsumer, messageId, OutcomeUnknownError, TerminalError, type Outcome } from 'consume-once'
import { runRabbit, type RabbitOptions } from 'consume-once/amqplib'
import { serveHealth } from 'consume-once/health'
import { redisLease } from 'consume-once/redis'
import { prometheus } from 'consume-once/prometheus'
import { eventually } from '../kit/eventually.ts'
import { startFaultProxy } from '../kit/fault-proxy.ts'
import { uniqueName } from '../kit/namespace.ts'
import { Watching } from '../kit/recording-intake.ts'
import { startPrivatePrometheus, type PrivatePrometheus } from '../kit/servers/private-prometheus.ts'
import { server } from '../kit/servers/server.ts'
import { Rabbit } from '../rabbitmq/rabbit.ts'
import { Gate } from '../rabbitmq/watching.ts'

/** Every outcome of a delivery, and how a query finds the deliveries that this test makes end so. */
const FOUND: Readonly<Record<Outcome, string>> = {
  handled: 'outcome="handled"',
  skipped: 'outcome="skipped"',
  duplicate: 'outcome="duplicate"',
  joined: 'outcome="joined", reason="handled"',
  failed: 'outcome="failed"',
  'dead-lettered': 'outcome="dead-lettered", reason="handler-failed"',
  parked: 'outcome="parked", reason="in-doubt"',
  'settle-refused': 'outcome="settle-refused", reason="handled"',
  'lease-lost': 'outcome="lease-lost"',
  'handed-back': 'outcome="handed-back", reason="stop"',
}

describe('a Prometheus that scrapes a consumer on RabbitMQ and Redis', () => {
  /** In the order in which things began. */
  const ends: (() => unknown)[] = []
  let scraper: PrivatePrometheus

  beforeAll(async () => {
    const rabbit = await Rabbit.open()
    ends.push(() => rabbit[Symbol.asyncDispose]())
    const proxy = await startFaultProxy(Number(new URL(rabbit.url).port || 5672))
    ends.push(() => proxy.stop())
    const redis = new Redis((await server('redis')).url)
    ends.push(() => redis.disconnect())
    const prefix = uniqueName('signals')
    const queue = rabbit.name()
    rabbit.delayQueues(queue, 50)
    const options: RabbitOptions = { queue, retry: { delayQueues: [50] } }
    const viaProxy = new URL(rabbit.url)
    viaProxy.port = String(proxy.port)

    /** Handlers of these messages wait for the test. */
    const gates: Readonly<Record<string, Gate>> = {
      joined: new Gate(),
      refused: new Gate(),
      lost: new Gate(),
      held: new Gate(),
    }
    const registry = new Registry()
    const settings = {
      name: 'mail',
      id: messageId.property(),
      decode: (value: Uint8Array | null) => Buffer.from(value ?? []).toString(),
      store: redisLease({ redis, prefix }),
      onInDoubt: 'park' as const,
      graceMs: 100,
    }
    const starts: string[] = []
    const watching = new Watching()
    const consumer = defineConsumer<string>({
      ...settings,
      observe: [prometheus({ registry }), watching.observe],
      handle: async ({ payload, attempt, skip }) => {
        starts.push(payload)
        if (payload === 'skipped') return skip('nobody to write to')
        if (payload === 'flaky' && attempt === 1) throw new Error('503, try again')
        if (payload === 'bad') throw new TerminalError('no such address')
        if (payload === 'unknown') throw new OutcomeUnknownError('the provider did not answer')
        await gates[payload]?.opened
        return undefined
      },
    })
    const running = await runRabbit(viaProxy.href, consumer, options)
    ends.push(() => running.stop({ deadlineMs: 1 }))
    const health = await serveHealth(running, { port: 0, host: '127.0.0.1', metrics: registry })
    ends.push(() => health.close())
    scraper = await startPrivatePrometheus({ targets: [`127.0.0.1:${health.port}`] })
    ends.push(() => scraper.stop())
    const started = (text: string): Promise<void> => eventually(() => starts.includes(text))

    // Prometheus knows the series before they move, as it would of a consumer that has run for a while.
    await rabbit.send(queue, ['a', 'skipped', 'bad', 'unknown', 'flaky', 'joined'])
    await started('joined')
    // All others have ended: two in flight are the two copies.
    for (const outcome of ['skipped', 'dead-lettered', 'parked', 'failed']) await watching.untilOutcomes(outcome, 1)
    await watching.untilOutcomes('handled', 2)
    await rabbit.send(queue, ['joined'])
    await eventually(() => running.health().inFlight >= 2)
    gates['joined']?.open()
    await watching.untilOutcomes('joined', 1)
    await rabbit.send(queue, ['a'])
    await watching.untilOutcomes('duplicate', 1)

    // The connection is lost while a handler runs: its effect is marked, its delivery can no longer be settled.
    const cut = async (times: number): Promise<void> => {
      proxy.refuse()
      proxy.cut()
      await watching.untilTold('connection-lost', times)
    }
    await rabbit.send(queue, ['refused'])
    await started('refused')
    await cut(1)
    gates['refused']?.open()
    await watching.untilOutcomes('settle-refused', 1)
    proxy.accept()
    await watching.untilTold('rebuilt', 1)
    await watching.untilOutcomes('duplicate', 2)

    // The store loses the lease as well, and another process has the message by the time of the mark.
    await rabbit.send(queue, ['lost'])
    await started('lost')
    await cut(2)
    await redis.del(await redis.keys(`*${prefix}*`))
    const taken = new Gate()
    const handedOver = new Gate()
    const other = defineConsumer<string>({
      ...settings,
      store: redisLease({ redis, prefix }),
      handle: async ({ payload }) => {
        if (payload !== 'lost') return
        taken.open()
        await handedOver.opened
      },
    })
    const elsewhere = await runRabbit(rabbit.url, other, options)
    ends.push(() => elsewhere.stop({ deadlineMs: 1 }))
    await taken.opened
    gates['lost']?.open()
    await watching.untilOutcomes('lease-lost', 1)
    handedOver.open()
    await elsewhere.stop()
    proxy.accept()
    await watching.untilTold('rebuilt', 2)

    // A stop that does not wait for a handler gives its message back.
    await rabbit.send(queue, ['held'])
    await started('held')
    await running.stop({ deadlineMs: 1 })
    await watching.untilOutcomes('handed-back', 1)
    gates['held']?.open()
  }, 300_000)
  afterAll(async () => {
    for (const end of ends.toReversed()) await end()
  }, 60_000)

  it.each(Object.entries(FOUND))('finds a delivery that ended as %s', async (_, labels) => {
    const series = `consume_once_deliveries_total{consumer="mail", system="rabbitmq", ${labels}} > 0`
    await eventually(async () => (await scraper.query(series)).length > 0)
    expect(await scraper.query(series)).toHaveLength(1)
  })

  it('adds the duplicates up, wherever they were found', async () => {
    const found = await scraper.query('sum by (found) (consume_once_duplicates_total{consumer="mail"}) > 0')
    expect(new Set(found.map(({ metric }) => metric['found']))).toEqual(new Set(['process', 'store']))
    const events = await scraper.query('consume_once_events_total{consumer="mail", event="lease-lost"}')
    expect(events).toMatchObject([{ value: [expect.anything(), '1'] }])
  })
})
