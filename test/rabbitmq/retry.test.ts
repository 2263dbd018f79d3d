import { openedOnce } from '../kit/opened.ts'
import { eventually } from '../kit/eventually.ts'
import { afterEach, describe, expect, it } from '@jest/globals'
import type { RabbitOptions } from '../../adapters/amqplib/index.ts'
import { TerminalError } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { startProxyOf } from '../kit/fault-proxy.ts'
import { itWaitsElsewhereWhileBusy } from './busy.ts'
import { Consumers, type Handle } from './consumers.ts'
import { Rabbit } from './rabbit.ts'
import { Gate } from './watching.ts'

let rabbit: Rabbit
const consumers = new Consumers()

openedOnce(Rabbit, (made) => (rabbit = made))
afterEach(() => consumers.end())

function failing(): void {
  throw new Error('no')
}

describe('retry by delay queues', () => {
  it('lets the rest of the lane go on, counts attempts over the copies, and dead-letters after the last', async () => {
    const queue = rabbit.name()
    rabbit.delayQueues(queue, 50, 100)
    const seen: string[] = []
    const handle: Handle = ({ payload, attempt }) => {
      seen.push(`${payload} ${attempt}`)
      if (payload === 'bad') throw new Error('no')
    }
    const options: RabbitOptions = { queue, lane: () => 'one', retry: { delayQueues: [50, 100] } }
    const { running, watching } = await consumers.run(rabbit.url, options, handle, { maxAttempts: 4 })
    await rabbit.send(queue, ['bad', 'good'])
    await watching.untilOutcomes('dead-lettered', 1)
    expect(seen).toEqual(['bad 1', 'good 1', 'bad 2', 'bad 3', 'bad 4'])
    expect(watching.outcomes()).toEqual({ failed: 3, handled: 1, 'dead-lettered': 1 })
    expect(running.health().counts).toMatchObject({ delayed: 3, 'dead-lettered': 1 })
    await running.stop()
    expect(await rabbit.takeLeft(queue)).toEqual([])
    const { body, properties } = await rabbit.take(`${queue}.dead-letter`)
    expect(body).toBe('bad')
    expect(properties.headers).toMatchObject({ 'consume-once-attempts': 4, 'consume-once-origin-queue': queue })
  })

  it('goes on in another process, and what was delayed is not lost with the first', async () => {
    const queue = rabbit.name()
    const [delay = ''] = rabbit.delayQueues(queue, 400)
    const store = memoryStore()
    const options: RabbitOptions = { queue, retry: { delayQueues: [400] } }
    const first = await consumers.run(rabbit.url, options, failing, { store })
    await rabbit.send(queue, ['a'])
    await first.watching.untilOutcomes('failed', 1)
    await first.running.stop()
    expect(await rabbit.ready(delay)).toBe(1)
    const attempts: number[] = []
    const second = await consumers.run(rabbit.url, options, ({ attempt }) => attempts.push(attempt), { store })
    await second.watching.untilOutcomes('handled', 1)
    expect(attempts).toEqual([2])
    expect(second.watching.outcomes()).toEqual({ handled: 1 })
  })

  it('keeps the original while the delay queue takes nothing, and moves it when it does', async () => {
    const queue = rabbit.name()
    const [delay = ''] = rabbit.delayQueues(queue, 60_000)
    const full = { 'x-queue-type': 'classic', 'x-max-length': 0, 'x-overflow': 'reject-publish' }
    await rabbit.declare(queue)
    await rabbit.declare(delay, full)
    const options: RabbitOptions = { queue, setup: 'off', retry: { delayQueues: [60_000] } }
    const { running, watching } = await consumers.run(rabbit.url, options, failing)
    await rabbit.send(queue, ['a'])
    await watching.untilTold('publish-failed')
    expect(watching.outcomes()).toEqual({})
    await rabbit.delete(delay)
    await rabbit.declare(delay)
    await watching.untilOutcomes('failed', 1)
    expect(await rabbit.ready(delay)).toBe(1)
    await running.stop()
    expect(await rabbit.takeLeft(queue)).toEqual([])
  })
})

describe('a message that another process is busy with for long', () => {
  itWaitsElsewhereWhileBusy('a delay queue', { delayQueues: [100] }, () => ({ rabbit, consumers }))
})

describe('dead letters by reject', () => {
  it('are moved also when the delivery that failed is gone, and another of it has come', async () => {
    await using proxy = await startProxyOf(rabbit.url, 5672)
    const [queue, dead] = [rabbit.name(), rabbit.name()]
    await rabbit.declare(dead)
    const own = { 'x-queue-type': 'quorum', 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': dead }
    await rabbit.declare(queue, own)
    const [begun, cut] = [new Gate(), new Gate()]
    const handle: Handle = async () => {
      begun.open()
      await cut.opened
      throw new TerminalError('no')
    }
    const { running, watching } = await consumers.run(proxy.url, { queue, deadLetter: 'reject' }, handle, {
      onInDoubt: 'rerun',
    })
    await rabbit.send(queue, ['a'])
    await begun.opened
    proxy.cut()
    await watching.untilTold('rebuilt')
    await eventually(() => running.health().checks['handlers'] === '2 in flight')
    cut.open()
    await watching.until(() => watching.events.filter(({ type }) => type === 'delivery').length >= 2)
    await running.stop()
    expect(await rabbit.takeLeft(queue)).toEqual([])
    expect((await rabbit.takeLeft(dead)).map(({ body }) => body)).toEqual(['a'])
  })
})
