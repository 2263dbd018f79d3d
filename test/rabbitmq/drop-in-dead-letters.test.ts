import { openedOnce } from '../kit/opened.ts'
import { afterEach, describe, expect, it } from '@jest/globals'
import { confirmedPublisher } from '../../adapters/amqplib/index.ts'
import type { HandlerContext } from '../../src/index.ts'
import { OwnChannels, refuse, withDeadLetters, type Handle } from './own-channels.ts'
import { Gate } from './watching.ts'

let own: OwnChannels

openedOnce(OwnChannels, (made) => (own = made))
afterEach(() => own.end())

describe('dead letters of onMessage', () => {
  it('are published, confirmed, with headers, and then acked', async () => {
    const queue = await own.queue()
    await own.rabbit.declare(`${queue}.dead-letter`)
    await own.rabbit.send(queue, ['a'], { contentType: 'text/plain' })
    await using publisher = confirmedPublisher(own.rabbit.url)
    const { frames, watching } = await own.consume(queue, refuse, {
      queue,
      deadLetter: { publisher, queue: `${queue}.dead-letter` },
    })
    await watching.untilOutcomes('dead-lettered', 1)
    expect(frames).toEqual(['ack 1 false'])
    const { body, properties } = await own.rabbit.take(`${queue}.dead-letter`)
    expect(body).toBe('a')
    expect(properties).toMatchObject({ messageId: 'a', contentType: 'text/plain' })
    expect(properties.headers).toMatchObject({ 'consume-once-origin-queue': queue, 'consume-once-detail': 'never' })
  })

  it('without an ID are published too', async () => {
    const queue = await own.queue()
    await own.rabbit.declare(`${queue}.dead-letter`)
    await own.rabbit.send(queue, ['nameless'], { isNameless: true })
    await using publisher = confirmedPublisher(own.rabbit.url)
    const { watching } = await own.consume(queue, () => {}, {
      deadLetter: { publisher, queue: `${queue}.dead-letter` },
    })
    await watching.untilOutcomes('dead-lettered', 1)
    expect((await own.rabbit.take(`${queue}.dead-letter`)).properties.headers).toMatchObject({
      'consume-once-reason': 'no-id',
    })
  })

  it("are rejected to the queue's own dead-letter exchange, by choice", async () => {
    const dead = await own.queue()
    const queue = await own.queue(withDeadLetters(dead))
    await own.rabbit.send(queue, ['a', 'b'])
    const { frames, watching } = await own.consume(queue, refuseA, { deadLetter: 'reject' })
    await watching.untilTold('delivery', 2)
    expect(frames.toSorted()).toEqual(['ack 2 false', 'reject 1 false'])
    expect((await own.rabbit.take(dead)).body).toBe('a')
  })

  it('are rejected once, whatever has joined them', async () => {
    const dead = await own.queue()
    const queue = await own.queue(withDeadLetters(dead))
    await own.rabbit.send(queue, ['a', 'a', 'a'])
    const gate = new Gate()
    const handle: Handle = async () => {
      await gate.opened
      return refuse()
    }
    const { channel, frames, watching } = await own.consume(queue, handle, { deadLetter: 'reject' })
    await watching.untilTold('claims')
    // All three have come by the time this is answered, and the turn in which they were handed over is past.
    await channel.checkQueue(queue)
    await channel.checkQueue(queue)
    gate.open()
    await watching.untilTold('delivery', 3)
    expect(frames.toSorted()).toEqual(['ack 2 false', 'ack 3 false', 'reject 1 false'])
    expect((await own.rabbit.take(dead)).body).toBe('a')
  })

  it('that nobody may publish stay unacked, visibly', async () => {
    const queue = await own.queue()
    await own.rabbit.send(queue, ['a', 'b'])
    const { channel, frames, made, watching } = await own.consume(queue, refuseA)
    await watching.untilTold('publish-failed', 2)
    await watching.untilOutcomes('handled', 1)
    expect(frames).toEqual(['ack 2 false'])
    expect(watching.events).toContainEqual(
      expect.objectContaining({
        type: 'publish-failed',
        error: expect.objectContaining({ message: expect.stringContaining('Give onMessage() the option deadLetter') }),
      }),
    )
    await made.stop({ deadlineMs: 1 })
    await channel.close()
    expect((await own.rabbit.takeLeft(queue)).map(({ body }) => body)).toEqual(['a'])
  })
})

function refuseA({ payload }: HandlerContext<string>): void {
  if (payload === 'a') refuse()
}
