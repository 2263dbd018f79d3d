import { afterEach, expect, it } from '@jest/globals'
import { runRabbit } from '../../adapters/amqplib/index.ts'
import { defineConsumer, messageId, type Running } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { eventually } from '../../test/kit/eventually.ts'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { startPrivateRabbit } from '../../test/kit/servers/private-rabbit.ts'
import { Rabbit } from '../../test/rabbitmq/rabbit.ts'
import { rabbitVersions } from '../kit/server-versions.ts'

/** The broker checks about once in this time. */
const TIMEOUT_MS = 3_000

rabbitVersions.describeOn('4.3', 'a limit under which messages wait longer than the consumer timeout', () => {
  let broker: Awaited<ReturnType<typeof startPrivateRabbit>>
  let rabbit: Rabbit
  let running: Running | undefined

  beforeAllOpen(async (own) => {
    broker = own(await startPrivateRabbit({ version: '4.3' }))
    rabbit = own(await Rabbit.open(broker.url))
  })
  afterEach(() => running?.stop({ deadlineMs: 100 }))

  it.each([
    ['leaves them in the queue, and none is taken back', {}, false],
    ['has them taken back where prefetch takes too many, and handles each once all the same', { prefetch: 64 }, true],
  ])(
    '%s',
    async (_, options, isTakenBack) => {
      const queue = rabbit.name()
      const handled: string[] = []
      const told: string[] = []
      const consumer = defineConsumer({
        name: 'sms',
        id: messageId.property(),
        decode: (value) => value,
        store: memoryStore(),
        leaseMs: 1_000,
        handlerTimeoutMs: 1_000,
        graceMs: 100,
        limit: { perSecond: 5, burst: 1 },
        handle: ({ message }) => void handled.push(String(message.messageId)),
        observe: (event) => void told.push(event.type === 'source' ? event.event : event.type),
      })
      running = await runRabbit(broker.url, consumer, { queue, consumerTimeoutMs: TIMEOUT_MS, ...options })
      const ids = Array.from({ length: 50 }, (_one, n) => `m${n}`)
      await rabbit.send(queue, ids)
      // 10 s.
      await eventually(async () => handled.length >= 50, 60_000)
      expect(handled.toSorted()).toEqual(ids.toSorted())
      expect(told.includes('consumer-cancelled')).toBe(isTakenBack)
      expect(told).not.toContain('stalled')
    },
    120_000,
  )
})
