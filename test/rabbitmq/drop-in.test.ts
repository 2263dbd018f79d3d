import { openedOnce } from '../kit/opened.ts'
import { eventually } from '../kit/eventually.ts'
import { Watching } from '../kit/recording-intake.ts'
import { afterEach, describe, expect, it } from '@jest/globals'
import type { ChannelModel, ConfirmChannel } from 'amqplib'
import { connect as connectWithOldest } from 'amqplib-0.10'
import { connect as connectWithFirst } from 'amqplib-1'
import { confirmedPublisher, onMessage, runRabbit } from '../../adapters/amqplib/index.ts'
import { StoreError, type Consumer, type Message } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { storeWith } from '../kit/store-with.ts'
import { OwnChannels, consumerOf, refuse, type Handle } from './own-channels.ts'
import { Gate, bodies } from './watching.ts'

let own: OwnChannels

openedOnce(OwnChannels, (made) => (own = made))
afterEach(() => own.end())

describe("onMessage on a channel of the user's own", () => {
  it('handles a message once, however often it comes, and acks each delivery by a frame of its own', async () => {
    const queue = await own.queue()
    await own.rabbit.send(queue, ['a', 'b', 'a', 'c', 'b'])
    const handled: string[] = []
    const { frames, watching, made } = await own.consume(queue, ({ payload }) => handled.push(payload))
    await watching.until(() => watching.told('delivery') === 5)
    expect(handled.toSorted()).toEqual(['a', 'b', 'c'])
    expect(watching.outcomes()['handled']).toBe(3)
    expect(frames.toSorted()).toEqual([1, 2, 3, 4, 5].map((tag) => `ack ${tag} false`))
    expect(made.health()).toMatchObject({ live: true, ready: true, checks: { source: 'ok' } })
  })

  it('acks only after the mark', async () => {
    const queue = await own.queue()
    await own.rabbit.send(queue, ['a'])
    const marking = new Gate()
    const store = storeWith((memory) => ({
      mark: async (claims) => {
        await marking.opened
        return memory.mark(claims)
      },
    }))
    let handled = 0
    const { frames, watching } = await own.consume(queue, () => handled++, { settings: { store } })
    await watching.untilTold('claims')
    await eventually(() => handled === 1)
    expect(frames).toEqual([])
    marking.open()
    await watching.untilOutcomes('handled', 1)
    expect(frames).toEqual(['ack 1 false'])
  })

  it('asks the store once for all that comes in one turn of the event loop', async () => {
    const queue = await own.queue()
    await own.rabbit.send(queue, bodies(50))
    const { watching } = await own.consume(queue, () => {})
    await watching.untilOutcomes('handled', 50)
    expect(watching.told('claims')).toBeLessThan(20)
  })

  it('has the keys of runRabbit, where it is told the queue', async () => {
    const queue = await own.queue()
    const store = memoryStore()
    await own.rabbit.send(queue, ['a'])
    const first = await own.consume(queue, () => {}, { queue, settings: { store } })
    await first.watching.untilOutcomes('handled', 1)
    await first.made.stop()
    await first.channel.close()
    await own.rabbit.send(queue, ['a'])
    const watching = new Watching()
    await using running = await runRabbit(
      own.rabbit.url,
      consumerOf(watching, () => {}, { store }),
      {
        queue,
        setup: 'off',
      },
    )
    await watching.untilTold('delivery')
    expect(watching.outcomes()).toEqual({ duplicate: 1 })
    expect(running.state).toBe('running')
  })

  it('keeps the order of a lane, a failed message in front', async () => {
    const queue = await own.queue()
    await own.rabbit.send(queue, ['a1', 'b1', 'a2', 'a3'])
    const seen: string[] = []
    let failures = 2
    const handle: Handle = ({ payload }) => {
      if (payload === 'a1' && failures-- > 0) throw new Error('not yet')
      seen.push(payload)
    }
    const { watching } = await own.consume(queue, handle, { lane: firstDeadLetter })
    await watching.untilOutcomes('handled', 4)
    expect(seen.filter((text) => text.startsWith('a'))).toEqual(['a1', 'a2', 'a3'])
    expect(watching.told('attempt-failed')).toBe(2)
  })

  it('takes a lane that throws for none, and tells it', async () => {
    const queue = await own.queue()
    await own.rabbit.send(queue, ['a'])
    const { watching, made } = await own.consume(queue, () => {}, { lane: refuse })
    await watching.untilOutcomes('handled', 1)
    expect(made.health().counts).toEqual({ 'lane-failed': 1 })
  })

  it('survives handlers that throw anything, synchronously or later', async () => {
    const queue = await own.queue()
    await own.rabbit.send(queue, bodies(4))
    const tried = new Set<string>()
    const handle: Handle = async ({ payload }) => {
      if (tried.has(payload)) return
      tried.add(payload)
      if (payload === 'm0') throw new TypeError('sync')
      await Promise.resolve()
      // oxlint-disable-next-line typescript/only-throw-error -- what a user's code may do
      throw payload === 'm1' ? undefined : 'text'
    }
    const { channel, watching } = await own.consume(queue, handle)
    await watching.untilOutcomes('handled', 4)
    expect((await channel.checkQueue(queue)).messageCount).toBe(0)
  })

  it('waits for a store that cannot be opened, visibly, with the deliveries unacked', async () => {
    const queue = await own.queue()
    await own.rabbit.send(queue, ['a'])
    let failures = 2
    const store = storeWith((memory) => ({
      open: async () => {
        if (failures-- > 0) throw new StoreError('STORE_UNREACHABLE', 'down')
        await memory.open()
      },
    }))
    const { watching, made } = await own.consume(queue, () => {}, { settings: { store } })
    expect(made.health()).toMatchObject({ ready: false, checks: { store: 'not open' } })
    await watching.untilOutcomes('handled', 1)
    expect(made.health()).toMatchObject({ ready: true, checks: { store: 'ok' }, counts: { 'store-not-opened': 2 } })
  })

  it('works on a confirm channel, beside another consumer', async () => {
    const [queue, other] = [await own.queue(), await own.queue()]
    await own.rabbit.send(queue, bodies(20))
    await own.rabbit.send(other, bodies(20))
    const model = await own.connect()
    const channel: ConfirmChannel = await model.createConfirmChannel()
    let others = 0
    await channel.consume(other, (message) => {
      others++
      if (message !== null && others % 2 === 0) channel.ack(message)
    })
    const { made, watching } = await own.consume(queue, () => {}, { channel })
    await watching.untilOutcomes('handled', 20)
    await eventually(() => others === 20)
    await made.stop()
    await channel.close()
    expect(await own.rabbit.takeLeft(queue)).toEqual([])
    expect(await own.rabbit.takeLeft(other)).toHaveLength(10)
  })

  it.each([
    ['0.10', connectWithOldest],
    ['1', connectWithFirst],
  ])('works on a channel of amqplib %s, and hears how it ends', async (_, connectWith) => {
    const queue = await own.queue()
    await own.rabbit.send(queue, ['a', 'b', 'a'])
    const model = (await connectWith(own.rabbit.url)) as unknown as ChannelModel
    const channel = await model.createChannel()
    channel.on('error', () => {})
    const { made, watching } = await own.consume(queue, () => {}, { channel })
    await watching.until(() => watching.told('delivery') === 3)
    channel.ack({ fields: { deliveryTag: 99 } } as never)
    await watching.untilTold('channel-closed')
    expect(made.health().checks['source']).toContain('unknown delivery tag 99')
    await model.close()
    expect(await own.rabbit.takeLeft(queue)).toEqual([])
  })

  it('refuses a consumer of another name on the same queue and connection, until the first one is stopped', async () => {
    const queue = await own.queue()
    const model = await own.connect()
    const first = onMessage(await model.createChannel(), named('sms'), { queue })
    const channel = await model.createChannel()
    expect(() => onMessage(channel, named('mail'), { queue })).toThrow(/"mail" where "sms"/)
    const lent = runRabbit({ connection: model }, named('mail'), { queue })
    await expect(lent).rejects.toMatchObject({ code: 'CONSUMER_NAME_TAKEN' })
    await onMessage(channel, named('sms'), { queue }).stop()
    await first.stop()
    await onMessage(channel, named('mail'), { queue }).stop()
  })

  it('refuses options that are wrong or unknown, all at once', () => {
    const consumer = consumerOf(new Watching(), () => {})
    const options = { que: 'x', queue: '', lane: 'a', deadLetter: { queue: '' } }
    expect(() => onMessage({} as never, consumer, options as never)).toThrow(
      /channel: .*que: unknown option.*queue: expected a name.*deadLetter\.queue: expected.*lane: expected a function/s,
    )
  })

  it('refuses a publisher that is not ours, and a dead-letter queue that is consumed here', async () => {
    const channel = await own.channel(1)
    const consumer = consumerOf(new Watching(), () => {})
    const foreign = { publish: async () => {}, close: async () => {}, [Symbol.asyncDispose]: async () => {} }
    expect(() => onMessage(channel, consumer, { deadLetter: { publisher: foreign, queue: 'q' } })).toThrow(
      /what confirmedPublisher\(\) returned/,
    )
    await using publisher = confirmedPublisher(own.rabbit.url)
    expect(() => onMessage(channel, consumer, { queue: 'q', deadLetter: { publisher, queue: 'q' } })).toThrow(
      /another queue than the one consumed/,
    )
  })
})

function named(name: string): Consumer {
  return consumerOf(new Watching(), () => {}, { name })
}

function firstDeadLetter({ value }: Message): string {
  return Buffer.from(value ?? []).toString('utf8', 0, 1)
}
