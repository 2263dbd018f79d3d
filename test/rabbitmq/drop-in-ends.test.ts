import { openedOnce } from '../kit/opened.ts'
import { eventually } from '../kit/eventually.ts'
import { afterEach, describe, expect, it } from '@jest/globals'
import { memoryStore } from '../../src/memory/index.ts'
import { OwnChannels, refuse, withDeadLetters, type Handle } from './own-channels.ts'
import { Gate, bodies } from './watching.ts'

let own: OwnChannels

openedOnce(OwnChannels, (made) => (own = made))
afterEach(() => own.end())

describe('a channel under onMessage that ends', () => {
  it('by a lost connection aborts its handlers, settles nothing more, and the next channel finds the marks', async () => {
    const queue = await own.queue()
    const store = memoryStore()
    await own.rabbit.send(queue, bodies(5))
    const aborted: string[] = []
    let handled = 0
    const first = await own.consume(
      queue,
      async ({ payload, signal }) => {
        handled++
        await new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => {
            aborted.push(payload)
            resolve()
          })
        })
      },
      { queue, url: own.viaProxy, settings: { store, concurrency: 2 } },
    )
    await eventually(() => handled === 2)
    own.proxy.cut()
    await first.watching.untilTold('channel-closed')
    await first.watching.until(() => first.watching.told('delivery') === 5)
    expect(aborted.toSorted()).toEqual(['m0', 'm1'])
    expect(first.frames).toEqual([])
    expect(first.made.health()).toMatchObject({ ready: false, counts: { 'channel-closed': 1 } })
    expect(first.made.health().checks['source']).toMatch(/^the channel is closed/)
    await first.made.stop()

    const seen: string[] = []
    const next = await own.consume(queue, ({ payload }) => seen.push(payload), { queue, settings: { store } })
    await next.watching.until(() => next.watching.told('delivery') === 5)
    expect(next.watching.outcomes()).toEqual({ handled: 3, duplicate: 2 })
    expect(seen.toSorted()).toEqual(['m2', 'm3', 'm4'])
  })

  it('by an error says why, and leaves that error to its owner', async () => {
    const queue = await own.queue()
    const model = await own.connect()
    const channel = await model.createChannel()
    const { made, watching } = await own.consume(queue, () => {}, { channel })
    expect(channel.listenerCount('error')).toBe(0)
    const heard = new Promise<Error>((resolve) => {
      channel.once('error', resolve)
    })
    channel.ack({ fields: { deliveryTag: 99 } } as never)
    expect((await heard).message).toContain('unknown delivery tag 99')
    await watching.untilTold('channel-closed')
    expect(made.health().checks['source']).toContain('unknown delivery tag 99')
    expect(watching.events).toContainEqual(
      expect.objectContaining({ detail: expect.stringContaining('noAck: true, or settled elsewhere') }),
    )
  })

  it('refuses a settle while it closes, without an error, and the redelivery is a duplicate', async () => {
    const queue = await own.queue()
    const store = memoryStore()
    await own.rabbit.send(queue, ['a'])
    const gate = new Gate()
    let handled = 0
    const first = await own.consume(
      queue,
      async () => {
        handled++
        await gate.opened
      },
      { queue, settings: { store } },
    )
    await eventually(() => handled === 1)
    // A slow close: the ack comes after it was asked for and before it is answered.
    const closing = first.channel.close()
    gate.open()
    await first.watching.untilTold('delivery')
    await closing
    expect(first.watching.outcomes()).toEqual({ 'settle-refused': 1 })
    expect(first.frames).toEqual([])
    const next = await own.consume(queue, () => handled++, { queue, settings: { store } })
    await next.watching.untilOutcomes('duplicate', 1)
    expect(handled).toBe(1)
  })

  it('does not go on for ever with a dead letter that nobody takes', async () => {
    const queue = await own.queue()
    await own.rabbit.send(queue, ['a'], { isNameless: true })
    const { channel, watching } = await own.consume(queue, () => {}, {
      settings: { handlerTimeoutMs: 100, graceMs: 50 },
    })
    await watching.untilTold('publish-failed')
    await channel.close()
    await watching.untilTold('delivery')
    expect(watching.outcomes()).toEqual({ 'handed-back': 1 })
  })
})

describe('a consumer under onMessage that the broker ends', () => {
  it('is told, its deliveries are settled no more, and the function serves the next consumer', async () => {
    const queue = await own.queue()
    await own.rabbit.send(queue, ['old'])
    const gate = new Gate()
    const seen: string[] = []
    const handle: Handle = async ({ payload }) => {
      seen.push(payload)
      if (payload === 'old') await gate.opened
    }
    const { channel, frames, made, watching } = await own.consume(queue, handle)
    await eventually(() => seen.length === 1)
    await own.rabbit.delete(queue)
    await watching.untilTold('consumer-cancelled')
    expect(made.health()).toMatchObject({ ready: false, counts: { 'consumer-cancelled': 1 } })
    expect(made.health().checks['source']).toContain('consume again')
    gate.open()
    await watching.untilTold('delivery')
    expect(frames).toEqual([])

    await own.rabbit.declare(queue)
    await channel.consume(queue, made, { noAck: false })
    await own.rabbit.send(queue, ['new'])
    await watching.untilOutcomes('handled', 1)
    expect(frames).toEqual(['ack 2 false'])
    expect(made.health().ready).toBe(true)
  })

  it('leaves a dead letter to the delivery that has joined it since', async () => {
    const dead = await own.queue()
    const queue = await own.queue(withDeadLetters(dead))
    await own.rabbit.send(queue, ['a'])
    const gate = new Gate()
    let runs = 0
    const handle: Handle = async ({ payload }) => {
      if (payload !== 'a') return
      runs++
      await gate.opened
      refuse()
    }
    const { channel, frames, made, watching } = await own.consume(queue, handle, {
      deadLetter: 'reject',
      settings: { graceMs: 10_000 },
    })
    await eventually(() => runs === 1)
    await own.rabbit.delete(queue)
    await watching.untilTold('consumer-cancelled')
    await own.rabbit.declare(queue, withDeadLetters(dead))
    await channel.consume(queue, made, { noAck: false })
    await own.rabbit.send(queue, ['a', 'b'])
    await watching.untilOutcomes('handled', 1)
    gate.open()
    await watching.untilTold('delivery', 3)
    expect(frames.toSorted()).toEqual(['ack 3 false', 'reject 2 false'])
    expect((await own.rabbit.take(dead)).body).toBe('a')
  })
})
