import { openedOnce } from '../kit/opened.ts'
import { eventually } from '../kit/eventually.ts'
import { RecordingIntake } from '../kit/recording-intake.ts'
import { afterEach, describe, expect, it } from '@jest/globals'
import { DelayedCopies } from '../../adapters/amqplib/copies/delayed.ts'
import { type RabbitOptions } from '../../adapters/amqplib/index.ts'
import { rabbitSource } from '../../adapters/amqplib/source-and-publisher.ts'
import type { Message } from '../../src/index.ts'
import type { RetryCopy } from '../../src/internal.ts'
import { Consumers } from './consumers.ts'
import { Rabbit } from './rabbit.ts'

let rabbit: Rabbit
const consumers = new Consumers()

openedOnce(Rabbit, (made) => (rabbit = made))
afterEach(() => consumers.end())

describe('the age of delayed copies', () => {
  it('is that of the oldest which has not come back, past its time', () => {
    const copies = new DelayedCopies([{ queue: 'q.1', delayMs: 10 }])
    const overdue = (now: number): number | undefined => copies.overdueMs(now).get('q.1')
    expect(overdue(5_000)).toBe(0)
    for (const dueAt of [10_000, 20_000, 30_000]) copies.delayed('q.1', dueAt)
    expect(overdue(9_000)).toBe(0)
    expect(overdue(10_100)).toBe(100)
    copies.arrived(copy('q.1', 10_000))
    expect(overdue(20_500)).toBe(500)
    // First in, first out: a later one tells of all before it, whoever has delayed it.
    copies.arrived(copy('q.1', 29_999))
    expect(overdue(30_007)).toBe(7)
    copies.arrived(copy('elsewhere', 30_000))
    expect(overdue(30_007)).toBe(7)
    copies.arrived(copy('q.1', 30_000))
    expect(overdue(99_999)).toBe(0)
  })

  it('is not that of what others may have got, who consume the queue too', () => {
    const copies = new DelayedCopies([{ queue: 'q.1', delayMs: 10 }])
    for (const dueAt of [10_000, 20_000]) copies.delayed('q.1', dueAt)
    copies.sharedAt(12_000)
    expect(copies.overdueMs(19_000).get('q.1')).toBe(0)
    expect(copies.overdueMs(20_300).get('q.1')).toBe(300)
  })

  it('does not wait for one that came back before its confirm did', () => {
    const copies = new DelayedCopies([{ queue: 'q.1', delayMs: 10 }])
    copies.arrived(copy('q.1', 10_000))
    copies.delayed('q.1', 10_000)
    expect(copies.overdueMs(99_999).get('q.1')).toBe(0)
  })

  it('is known of the oldest, however many are delayed', () => {
    const copies = new DelayedCopies([{ queue: 'q.1', delayMs: 10 }])
    for (let n = 0; n < 200_000; n++) copies.delayed('q.1', 10_000 + n * 100)
    expect(copies.overdueMs(20_000_000).get('q.1')).toBe(19_990_000)
    copies.arrived(copy('q.1', 510_000))
    expect(copies.overdueMs(1_000_000).get('q.1')).toBeLessThanOrEqual(490_000)
    expect(copies.overdueMs(1_000_000).get('q.1')).toBeGreaterThan(480_000)
  })
})

async function open(
  options: RabbitOptions,
  url = rabbit.url,
): Promise<ReturnType<typeof rabbitSource> & { readonly intake: RecordingIntake }> {
  const broker = consumers.broker(url, options)
  const intake = new RecordingIntake()
  await broker.source.open(intake)
  return { ...broker, intake }
}

describe('a copy that another consumer of the queue got', () => {
  it('is not overdue', async () => {
    const queue = rabbit.name()
    rabbit.delayQueues(queue, 50)
    const retry = { delayQueues: [50], overdueAfterMs: 100 }
    // Holds the first message, and so gets none of what follows.
    const here = await open({ queue, retry, prefetch: 1 })
    await rabbit.send(queue, ['a'])
    await here.intake.untilDelivered(1)
    const elsewhere = await open({ queue, retry })
    const [delivery] = here.intake.deliveries
    if (delivery === undefined) throw new TypeError('nothing was delivered')
    const deadLetter = { why: 'failed', attempts: 1, delayMs: 50, detail: '', errorClass: undefined } as const
    await here.publisher.retryLater?.({ ...deadLetter, message: delivery.message, consumer: 'c', group: 'g' })
    await elsewhere.intake.untilDelivered(1)
    // Longer than it takes to tell of one that is missing.
    for (let look = 0; look < 4; look++) await nextLook()
    expect(here.intake.told('delayed-overdue').length).toBe(0)
    await eventually(() => Object.entries(here.source.health().counts ?? {}).every(isNotLate))
  })
})

describe('a delay queue that moves nothing on', () => {
  it('is told of once, and by the age of its oldest copy', async () => {
    const queue = rabbit.name()
    const [delay = ''] = rabbit.delayQueues(queue, 50)
    await rabbit.declare(queue)
    // No time to live: what goes in stays.
    await rabbit.declare(delay)
    const retry = { delayQueues: [50], overdueAfterMs: 100 }
    const { source, publisher, intake } = await open({ queue, setup: 'off', retry })
    await rabbit.send(queue, ['a'])
    await intake.untilDelivered(1)
    const deadLetter = { why: 'failed', attempts: 1, delayMs: 50, detail: '', errorClass: undefined } as const
    const { message } = intake.deliveries[0] ?? {}
    if (message === undefined) throw new TypeError('nothing was delivered')
    const retryCopy: RetryCopy = { ...deadLetter, message, consumer: 'c', group: 'g' }
    await publisher.retryLater?.(retryCopy)
    await intake.untilTold('delayed-overdue')
    await new Promise((resolve) => setImmediate(resolve))
    expect(intake.told('delayed-overdue').length).toBe(1)
    const { counts = {} } = source.health()
    expect(counts[`delayed-overdue-ms ${delay}`]).toBeGreaterThan(100)
    expect(counts).toMatchObject({ 'delayed-overdue': 1, delayed: 1 })
  })
})

describe('a blocked event loop', () => {
  it('is told of when it lasts longer than half the heartbeat, once in a minute', async () => {
    const url = new URL(rabbit.url)
    url.searchParams.set('heartbeat', '1')
    const { intake } = await open({ queue: rabbit.name() }, url.href)
    block(200)
    await nextLook()
    expect(intake.told('loop-blocked').length).toBe(0)
    block(900)
    await intake.untilTold('loop-blocked')
    block(900)
    await nextLook()
    expect(intake.told('loop-blocked').length).toBe(1)
    expect(intake.events).toContainEqual({
      type: 'source',
      event: 'loop-blocked',
      detail: expect.stringMatching(/^for \d+ ms nothing ran, and the heartbeat of the connection is 1000 ms: /),
      isWarning: true,
    })
  })
})

function isNotLate([name, count]: [string, number]): boolean {
  return !name.startsWith('delayed-overdue') || count === 0
}

/** A copy as it comes back. */
function copy(queue: string, dueAt: number): Message {
  const place = { system: 'rabbitmq', destination: 'q', origin: 'q', position: '1/1' } as const
  const headers = { 'consume-once-delay-queue': queue, 'consume-once-not-before': dueAt }
  return { ...place, key: null, value: null, headers }
}

function block(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

/** The watch looks each 250 ms by a timer; so does this. */
function nextLook(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 300))
}
