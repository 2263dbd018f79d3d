import { describe, expect, it } from '@jest/globals'
import { runRabbit, type RabbitOptions } from '../../adapters/amqplib/index.ts'
import { defineConsumer, messageId, RetryLaterError, type ConsumerSettings, type Running } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { stoppedAfterEach } from '../kit/after-each.ts'
import { eventually } from '../kit/eventually.ts'
import { openedOnce } from '../kit/opened.ts'
import { Rabbit } from './rabbit.ts'

let rabbit: Rabbit
const running = stoppedAfterEach<Running>({ deadlineMs: 1_000 })

openedOnce(Rabbit, (made) => (rabbit = made))

async function start(
  options: RabbitOptions,
  settings: Pick<ConsumerSettings<unknown, unknown, never>, 'limit'>,
  failing: (id: string) => void = () => {},
): Promise<{ readonly one: Running; readonly began: (readonly [id: string, at: number])[]; readonly told: string[] }> {
  const began: (readonly [string, number])[] = []
  const told: string[] = []
  const consumer = defineConsumer({
    name: 'sms',
    id: messageId.property(),
    decode: (value) => value,
    store: memoryStore(),
    ...settings,
    handle: ({ message }) => {
      began.push([String(message.messageId), performance.now()])
      failing(String(message.messageId))
    },
    observe: (event) => void told.push(event.type === 'source' ? event.event : event.type),
  })
  const one = await runRabbit(rabbit.url, consumer, options)
  running.push(one)
  return { one, began, told }
}

const ids = (count: number): string[] => Array.from({ length: count }, (_, n) => `m${n}`)

describe('a RabbitMQ consumer with a limit', () => {
  it('takes no more than its rate lets through within a tenth of the consumer timeout, and leaves the rest in the queue', async () => {
    const queue = rabbit.name()
    const { one, began, told } = await start(
      { queue, consumerTimeoutMs: 100_000 },
      { limit: { perSecond: 0.5, burst: 1 } },
    )
    await rabbit.send(queue, ids(12))
    await eventually(async () => began.length === 1)
    await eventually(async () => (await rabbit.ready(queue)) === 6)
    expect(one.health()).toMatchObject({ inFlight: 5, limited: 5, state: 'running', ready: true })
    expect(told).not.toContain('stalled')
  }, 60_000)

  it('handles each message once, at its rate', async () => {
    const queue = rabbit.name()
    const { began } = await start({ queue }, { limit: { perSecond: 20, burst: 2 } })
    await rabbit.send(queue, ids(60))
    await eventually(async () => began.length === 60, 30_000)
    const [first = 0, last = 0] = [began[0]?.[1], began.at(-1)?.[1]]
    const perSecond = 58 / ((last - first) / 1_000)
    expect(perSecond).toBeGreaterThan(10)
    expect(perSecond).toBeLessThan(20.8)
    await eventually(async () => (await rabbit.ready(queue)) === 0)
    expect(new Set(began.map(([id]) => id)).size).toBe(60)
  }, 60_000)

  it('gives a message whose provider said "later" to a delay queue, and spends no attempt', async () => {
    const queue = rabbit.name()
    let isFirst = true
    const { began, told } = await start({ queue, retry: { delayQueues: [500, 3_000] } }, {}, () => {
      if (!isFirst) return
      isFirst = false
      throw new RetryLaterError({ afterMs: 2_500 })
    })
    await rabbit.send(queue, ['m0'])
    await eventually(async () => told.includes('put-off'))
    // It takes no place in the process meanwhile.
    await eventually(async () => running.every((one) => one.health().inFlight === 0))
    await eventually(async () => began.length === 2, 30_000)
    expect((began[1]?.[1] ?? 0) - (began[0]?.[1] ?? 0)).toBeGreaterThan(2_400)
    expect(told).not.toContain('attempt-failed')
  }, 60_000)
})
