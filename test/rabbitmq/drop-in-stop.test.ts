import { openedOnce } from '../kit/opened.ts'
import { eventually } from '../kit/eventually.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from '@jest/globals'
import { OwnChannels, type Handle } from './own-channels.ts'
import { Gate, bodies } from './watching.ts'

let own: OwnChannels

openedOnce(OwnChannels, (made) => (own = made))
afterEach(() => own.end())

describe('stopping onMessage', () => {
  it.each([
    { count: 1000, how: '', isLate: false },
    { count: 200, how: ' of a broker that reads late', isLate: true },
  ])('leaves nothing to redeliver of $count finished messages on a quorum queue$how', async ({ count, isLate }) => {
    const queue = await own.queue()
    await own.rabbit.send(queue, bodies(count))
    const gate = new Gate()
    let begun = 0
    const handle: Handle = async () => {
      begun++
      await gate.opened
    }
    const { channel, consumerTag, frames, made } = await own.consume(queue, handle, {
      url: own.viaProxy,
      prefetch: count,
      settings: { concurrency: count, maxInFlight: 2000 },
    })
    await eventually(() => begun === count)
    await channel.cancel(consumerTag)
    if (isLate) own.proxy.freeze()
    gate.open()
    const closed = made.stop().then(() => channel.close())
    if (isLate) await sleep(300) // More than a calm broker needs.
    own.proxy.thaw()
    await closed
    expect(frames).toHaveLength(count)
    expect(await own.rabbit.takeLeft(queue)).toEqual([])
  })

  it('hands back what has not begun, lets the rest finish, and takes nothing more', async () => {
    const queue = await own.queue()
    await own.rabbit.send(queue, bodies(4))
    const gate = new Gate()
    let begun = 0
    const handle: Handle = async () => {
      begun++
      await gate.opened
    }
    const { channel, frames, made } = await own.consume(queue, handle, { prefetch: 4, settings: { concurrency: 1 } })
    await eventually(() => begun === 1)
    const stopping = made.stop()
    expect(made.stop()).toBe(stopping)
    // Not cancelled: what is handed back comes again, and then stays where it is.
    await eventually(() => frames.length === 3)
    gate.open()
    await stopping
    expect(frames.toSorted()).toEqual(['ack 1 false', 'nack 2 false true', 'nack 3 false true', 'nack 4 false true'])
    expect(begun).toBe(1)
    expect(made.health()).toMatchObject({ ready: false, state: 'stopped' })
    await channel.close()
    expect((await own.rabbit.takeLeft(queue)).map(({ body }) => body).toSorted()).toEqual(['m1', 'm2', 'm3'])
  })

  it('aborts at the deadline and gives back what would not end', async () => {
    const queue = await own.queue()
    await own.rabbit.send(queue, ['a'])
    let begun = 0
    const handle: Handle = async ({ signal }) => {
      begun++
      await sleep(60_000, undefined, { signal })
    }
    const { channel, made, watching } = await own.consume(queue, handle)
    await eventually(() => begun === 1)
    await made.stop({ deadlineMs: 1 })
    expect(watching.outcomes()).toEqual({ 'handed-back': 1 })
    await channel.close()
    expect(await own.rabbit.takeLeft(queue)).toHaveLength(1)
  })

  it('works before anything came, twice, by disposal, and after the channel is gone', async () => {
    const queue = await own.queue()
    const channel = await own.channel(1)
    const listeners = channel.listenerCount('close')
    const { made } = await own.consume(queue, () => {}, { channel })
    expect(channel.listenerCount('close')).toBe(listeners + 1)
    await channel.close()
    await made.stop()
    await made[Symbol.asyncDispose]()
    expect(channel.listenerCount('close')).toBe(listeners)
  })
})
