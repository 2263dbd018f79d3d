import { eventually } from '../../../test/kit/eventually.ts'
import { describe, expect, it } from '@jest/globals'
import { connect, type Channel, type ChannelModel, type ConsumeMessage } from 'amqplib'
import { Rabbit } from '../../../test/rabbitmq/rabbit.ts'
import { backends } from '../../../test/kit/backends.ts'
import { startFaultProxy, type FaultProxy, type Listener } from '../../../test/kit/fault-proxy.ts'
import { WireTap } from './wire-tap.ts'

const describeOnRabbit = backends.has('rabbitmq') ? describe : describe.skip

interface Tapped extends AsyncDisposable {
  readonly wire: WireTap
  readonly proxy: FaultProxy
  readonly rabbit: Rabbit
  readonly queue: string
  readonly client: ChannelModel
}

async function tapped(cut: (listener: Listener) => Listener = (listener) => listener): Promise<Tapped> {
  const rabbit = await Rabbit.open()
  const queue = rabbit.name()
  await rabbit.declare(queue)
  await rabbit.declare(`${queue}.dead-letter`)
  const wire = new WireTap(`${queue}.dead-letter`)
  const url = new URL(rabbit.url)
  const proxy = await startFaultProxy(Number(url.port || 5672), () => cut(wire.listen()))
  url.port = String(proxy.port)
  const client = await connect(url.href.replace('localhost', '127.0.0.1'))
  client.on('error', () => {})
  return {
    wire,
    proxy,
    rabbit,
    queue,
    client,
    async [Symbol.asyncDispose]() {
      await proxy.stop()
      await rabbit[Symbol.asyncDispose]()
    },
  }
}

/** All the bytes one by one. */
function crumbled(listener: Listener): Listener {
  return { ...listener, fromClient: crumble(listener.fromClient), fromServer: crumble(listener.fromServer) }
}

function crumble(hear: (bytes: Buffer) => void): (bytes: Buffer) => void {
  return (bytes) => {
    for (const byte of bytes) hear(Buffer.of(byte))
  }
}

async function consumed(channel: Channel, queue: string, count: number): Promise<readonly ConsumeMessage[]> {
  const messages: ConsumeMessage[] = []
  await new Promise<void>((resolve, reject) => {
    const onMessage = (message: ConsumeMessage | null): void => {
      if (message !== null) messages.push(message)
      if (messages.length === count) resolve()
    }
    channel.consume(queue, onMessage).catch(reject)
  })
  return messages
}

/** Whatever error comes before it. */
function closed(channel: Channel): Promise<void> {
  return new Promise((resolve) => void channel.once('close', () => resolve()))
}

describeOnRabbit('the tap on the wire', () => {
  it.each([
    ['as they come', undefined],
    ['one by one', crumbled],
  ])('reports what was settled and what was lost with its channel, from bytes %s', async (_, cut) => {
    await using on = await tapped(cut)
    const { wire, rabbit, queue, client } = on
    await rabbit.send(queue, ['a', 'b', 'c', 'd'], { headersOf: () => ({ some: 'header' }), contentType: 'text/plain' })
    const channel = await client.createChannel()
    const [, b, c] = await consumed(channel, queue, 4)
    if (b === undefined || c === undefined) throw new Error('four were consumed')
    channel.ack(b, true)
    channel.nack(c, false, true)
    await eventually(() => wire.redeliveries === 1) // By then the broker has heard both.
    expect([...wire.settledAt.keys()]).toEqual(['a', 'b'])
    expect(wire).toMatchObject({ deliveries: 5, redeliveries: 1, ackFrames: 1, outstanding: 2, consuming: 1 })

    on.proxy.cut()
    await eventually(() => wire.consuming === 0)
    expect(wire.outstanding).toBe(0)
    // The broker may not have heeded the ack.
    expect([...wire.lostDeliveries.keys()].toSorted()).toEqual(['a', 'b', 'c', 'd'])
    expect(wire.refusals).toEqual([])
  })

  it('reports when a dead letter was confirmed', async () => {
    await using on = await tapped()
    const { wire, queue, client } = on
    const channel = await client.createConfirmChannel()
    channel.sendToQueue(queue, Buffer.from('x'), { messageId: 'other' })
    channel.sendToQueue(`${queue}.dead-letter`, Buffer.from('x'), { messageId: 'p' })
    await channel.waitForConfirms()
    expect([...wire.deadLetterConfirmedAt.keys()]).toEqual(['p'])
    expect(wire.unconfirmedDeadLetters.size).toBe(0)
  })

  it('reports why the broker closed a channel', async () => {
    await using on = await tapped()
    const { wire, rabbit, queue, client } = on
    await rabbit.send(queue, ['a'])
    const channel = await client.createChannel()
    channel.on('error', () => {})
    const [a] = await consumed(channel, queue, 1)
    if (a === undefined) throw new Error('one was consumed')
    channel.ack(a)
    channel.ack(a)
    await closed(channel)
    expect(wire.refusals).toEqual(['406 PRECONDITION_FAILED - unknown delivery tag 1'])
  })
})
