import { eventually } from '../../test/kit/eventually.ts'
import { Watching } from '../../test/kit/recording-intake.ts'
import { describe, expect, it } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { connect as connectManaged } from 'amqp-connection-manager'
import type { Channel } from 'amqplib'
import { Connection, type AsyncMessage } from 'rabbitmq-client'
import { confirmedPublisher, rabbitDeadLetters, rabbitMessage, runRabbit } from '../../adapters/amqplib/index.ts'
import { TerminalError, runInline, type Message } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { startProxyOf, type ProxyOf } from '../../test/kit/fault-proxy.ts'
import { consumerOf } from '../../test/rabbitmq/own-channels.ts'
import { Rabbit } from '../../test/rabbitmq/rabbit.ts'
import { RECIPES, type Recipe } from './recipes.ts'
import { Gate, bodies } from '../../test/rabbitmq/watching.ts'

let rabbit: Rabbit
let proxy: ProxyOf

beforeAllOpen(async (own) => {
  rabbit = own(await Rabbit.open())
  proxy = own(await startProxyOf(rabbit.url, 5672))
})

async function newQueue(): Promise<string> {
  const queue = rabbit.name()
  await rabbit.declare(queue)
  return queue
}

async function isConsumed(queue: string): Promise<boolean> {
  return (await rabbit.consumers(queue)) > 0
}

describe.each(RECIPES)('$name', (recipe: Recipe) => {
  it('handles 200 messages with duplicates once each, and leaves the queue empty', async () => {
    const queue = await newQueue()
    const sent = bodies(150)
    const effects: string[] = []
    const watching = new Watching()
    const consumer = consumerOf(watching, ({ payload }) => effects.push(payload))
    const consuming = await recipe.start(rabbit.url, queue, consumer)
    await rabbit.send(queue, [...sent, ...sent.slice(0, 50)])
    await watching.until(() => watching.told('delivery') >= 200)
    await consuming.stop()
    // A client that closes right after its acks may lose some: then those are redelivered, and duplicates.
    const again = await recipe.start(rabbit.url, queue, consumer)
    await eventually(async () => (await rabbit.ready(queue)) === 0)
    await again.stop()
    expect(effects.toSorted()).toEqual(sent.toSorted())
  })

  it('loses nothing and repeats no effect when the connection is cut in the middle', async () => {
    const queue = await newQueue()
    const sent = bodies(200)
    const effects: string[] = []
    const watching = new Watching()
    const consumer = consumerOf(watching, ({ payload }) => {
      effects.push(payload)
      if (effects.length === 60 || effects.length === 130) proxy.cut()
    })
    const consuming = await recipe.start(proxy.url, queue, consumer)
    await rabbit.send(queue, sent)
    await watching.until(() => effects.length >= 200)
    await eventually(async () => (await rabbit.ready(queue)) === 0 && (await isConsumed(queue)))
    await consuming.stop()
    expect(effects.toSorted()).toEqual(sent.toSorted())
  })

  it('consumes again after a cut while a handler hangs', async () => {
    const queue = await newQueue()
    const hanging = new Gate()
    const effects: string[] = []
    const watching = new Watching()
    const consumer = consumerOf(watching, async ({ payload }) => {
      effects.push(payload)
      if (payload === 'hangs') await hanging.opened
    })
    const consuming = await recipe.start(proxy.url, queue, consumer)
    await rabbit.send(queue, ['hangs'])
    await eventually(() => effects.length === 1)
    proxy.cut()
    await eventually(async () => !(await isConsumed(queue)))
    await eventually(() => isConsumed(queue))
    await rabbit.send(queue, ['next'])
    await eventually(() => effects.includes('next'))
    hanging.open()
    await watching.until(() => watching.told('marks') > 0)
    await consuming.stop()
    expect(effects).toEqual(['hangs', 'next'])
  })
})

describe('amqp-connection-manager', () => {
  it('comes back where its channel closed alone, and where the broker ended the consumer', async () => {
    const queue = await newQueue()
    const watching = new Watching()
    const [recipe] = RECIPES
    const consuming = await recipe?.start(
      rabbit.url,
      queue,
      consumerOf(watching, () => {}),
    )
    await rabbit.delete(queue)
    await watching.untilTold('consumer-cancelled')
    await rabbit.declare(queue)
    await eventually(() => isConsumed(queue))
    await rabbit.send(queue, ['a'])
    await watching.untilTold('delivery')
    expect(watching.outcomes()).toEqual({ handled: 1 })
    await consuming?.stop()
  })

  it('loses a message where wrapper.ack() settles: the trap that the recipe avoids', async () => {
    const queue = await newQueue()
    const connection = connectManaged([proxy.url], { reconnectTimeInSeconds: 0.05 })
    const wrapper = connection.createChannel({
      setup: (channel: Channel) => channel.prefetch(1),
    })
    const late = new Gate()
    const deliveries: string[] = []
    await wrapper.consume(queue, (message) => {
      deliveries.push(message.content.toString())
      // "slow" has tag 1; it is acked when the next channel has given that tag to "other".
      if (deliveries.length === 1) void late.opened.then(() => wrapper.ack(message))
    })
    await rabbit.send(queue, ['slow'])
    await eventually(() => deliveries.length === 1)
    proxy.refuse()
    proxy.cut()
    await eventually(async () => (await rabbit.ready(queue)) === 1)
    expect((await rabbit.take(queue)).body).toBe('slow')
    await rabbit.send(queue, ['other'])
    proxy.accept()
    await eventually(() => deliveries.length === 2)
    expect(deliveries).toEqual(['slow', 'other'])
    late.open()
    await late.opened
    // "other" was neither handled nor acked, so it should come back.
    await connection.close()
    expect(await rabbit.takeLeft(queue)).toEqual([])
  })
})

describe('rabbitMessage', () => {
  it('keeps the bytes of rabbitmq-client, but for JSON, which it has parsed', async () => {
    const queue = await newQueue()
    const text = '{ "to": 1.0 }'
    const types = [
      {},
      { contentType: 'text/plain' },
      { contentType: 'application/json', contentEncoding: 'utf-8' },
      { contentType: 'application/json' },
    ]
    for (const properties of types) await rabbit.send(queue, [text], properties)
    const messages = (await received(queue, 4)).map((raw) => rabbitMessage(raw, { queue }))
    expect(messages.map(({ value }) => Buffer.from(value ?? []).toString())).toEqual([text, text, text, '{"to":1}'])
  })

  it('reads of rabbitmq-client what it reads of amqplib', async () => {
    const queue = await newQueue()
    const other = await newQueue()
    const options = { headers: { tenant: 'a' }, timestamp: 1_700_000_000, headersOf: () => ({ tenant: 'a' }) }
    await rabbit.send(queue, ['x'], options)
    await rabbit.send(other, ['x'], options)
    const [raw] = await received(queue, 1)
    const message = await rabbit.ask(async (channel) => {
      const got = await channel.get(other, { noAck: true })
      return got === false ? undefined : rabbitMessage(got, { queue })
    })
    expect(seen(raw && rabbitMessage(raw, { queue }))).toEqual(seen(message))
  })

  it('has the keys of runRabbit', async () => {
    const queue = await newQueue()
    const store = memoryStore()
    await rabbit.send(queue, ['x'])
    const [raw] = await received(queue, 1)
    const inline = runInline(
      consumerOf(new Watching(), () => {}, { store }),
      { group: queue },
    )
    const handled = raw && (await inline.handle(rabbitMessage(raw, { queue })))
    expect(handled).toEqual({ outcome: 'handled', settle: 'ack' })
    await rabbit.send(queue, ['x'])
    const watching = new Watching()
    await using running = await runRabbit(
      rabbit.url,
      consumerOf(watching, () => {}, { store }),
      { queue, setup: 'off' },
    )
    await watching.untilTold('delivery')
    expect(watching.outcomes()).toEqual({ duplicate: 1 })
    await running.stop()
  })

  it('has its dead letters published, confirmed, where a publisher is given', async () => {
    const queue = await newQueue()
    await rabbit.declare(`${queue}.dead-letter`)
    await rabbit.send(queue, ['x'])
    const [raw] = await received(queue, 1)
    await using publisher = confirmedPublisher(rabbit.url)
    const consumer = consumerOf(new Watching(), () => {
      throw new TerminalError('never')
    })
    await using inline = runInline(consumer, {
      group: queue,
      publisher: rabbitDeadLetters(publisher, `${queue}.dead-letter`),
    })
    expect(raw && (await inline.handle(rabbitMessage(raw, { queue })))).toMatchObject({
      outcome: 'dead-lettered',
      settle: 'ack',
    })
    const { body, properties } = await rabbit.take(`${queue}.dead-letter`)
    expect([body, properties.messageId]).toEqual(['x', 'x'])
  })

  it('refuses what is no message, and a queue without a name', () => {
    expect(() => rabbitMessage({ fields: {} } as never, { queue: 'q' })).toThrow(TypeError)
    expect(() => rabbitMessage({} as never, { queue: '' })).toThrow(/name of a queue/)
  })
})

/** Messages as rabbitmq-client delivers them. */
async function received(queue: string, count: number): Promise<AsyncMessage[]> {
  const connection = new Connection(rabbit.url)
  const came: AsyncMessage[] = []
  const done = new Gate()
  const subscription = connection.createConsumer({ queue, queueOptions: { passive: true } }, (raw): void => {
    came.push(raw)
    if (came.length === count) done.open()
  })
  await done.opened
  await subscription.close()
  await connection.close()
  return came
}

function seen(read: Message | undefined): unknown {
  return {
    value: Buffer.from(read?.value ?? []).toString(),
    id: read?.messageId,
    tenant: read?.headers['tenant'],
    timestamp: read?.timestamp,
    origin: read?.origin,
    redelivered: read?.redelivered,
  }
}
