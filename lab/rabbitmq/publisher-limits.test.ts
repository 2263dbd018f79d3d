import { openedOnce } from '../../test/kit/opened.ts'
import { eventually } from '../../test/kit/eventually.ts'
import { Watching } from '../../test/kit/recording-intake.ts'
import { describe, expect, it } from '@jest/globals'
import { connect } from 'amqplib'
import { connectorOf } from '../../adapters/amqplib/connection/connector.ts'
import { confirmedPublisher, runRabbit, type IdentifiedMessage } from '../../adapters/amqplib/index.ts'
import { ProducerPublisher, ReopeningPublisher } from '../../adapters/amqplib/publishing/confirmed-publisher.ts'
import type { BrokerError } from '../../src/index.ts'
import { startProxyOf } from '../../test/kit/fault-proxy.ts'
import { startPrivateRabbit } from '../../test/kit/servers/private-rabbit.ts'
import { SERVER_WITHIN_MS } from '../../test/kit/servers/server.ts'
import { consumerOf } from '../../test/rabbitmq/own-channels.ts'
import { Rabbit } from '../../test/rabbitmq/rabbit.ts'
import { Gate, bodies } from '../../test/rabbitmq/watching.ts'

let rabbit: Rabbit

openedOnce(Rabbit, (made) => (rabbit = made))

async function newQueue(kind: 'quorum' | 'classic' = 'quorum'): Promise<string> {
  const queue = rabbit.name()
  await rabbit.declare(queue, { 'x-queue-type': kind })
  return queue
}

describe('what a producer publishes', () => {
  it.each([
    ['missing', undefined, 'got undefined'],
    ['a number', 7, 'got number'],
    ['empty', '', 'got blank text'],
    ['blank', ' \n', 'got blank text'],
    ['too long', 'é'.repeat(128), 'got 256 bytes'],
    ['not valid when it arrives', 'a\uFFFDb', 'got text with such a character'],
    ['not valid Unicode', 'a\uD800b', 'got text with such a character'],
  ])('is refused with an ID that is %s', async (_, messageId, why) => {
    await using publisher = confirmedPublisher(rabbit.url)
    const message = { routingKey: 'nowhere', body: 'x', messageId } as IdentifiedMessage
    const publishing = publisher.publish(message)
    await expect(publishing).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining(why) })
  })

  it('arrives with an ID of 255 bytes of any script', async () => {
    const queue = await newQueue()
    const messageId = `${'é😀'.repeat(42)}abc`
    await using publisher = confirmedPublisher(rabbit.url)
    await publisher.publish({ routingKey: queue, body: 'x', messageId })
    expect((await rabbit.take(queue)).properties.messageId).toBe(messageId)
  })

  it('is bytes or text, and nothing else', async () => {
    const queue = await newQueue()
    await using publisher = confirmedPublisher(rabbit.url)
    await publisher.publish({ routingKey: queue, body: 'é', messageId: 'text' })
    await publisher.publish({ routingKey: queue, body: Uint8Array.of(0xc3, 0xa9), messageId: 'bytes' })
    expect((await rabbit.takeLeft(queue)).map(({ body }) => body)).toEqual(['é', 'é'])
    const wrong = { routingKey: queue, body: { to: 'x' }, messageId: 'object' } as unknown as IdentifiedMessage
    await expect(publisher.publish(wrong)).rejects.toThrow(/body: expected bytes or text, got object; JSON.stringify/)
  })
})

describe('a publisher', () => {
  it('lets producers wait for room, and refuses what is more than it holds', async () => {
    const queue = await newQueue('classic')
    // This many at once take longer than 10 s on a busy machine.
    await using publisher = new ProducerPublisher(new ReopeningPublisher(connectorOf(rabbit.url), 'test', 50_000))
    const publish = (messageId: string): Promise<string> =>
      publisher.publish({ routingKey: queue, body: 'x', messageId }).then(
        () => 'confirmed',
        (error: BrokerError) => error.message,
      )
    const ends = await Promise.all(bodies(11_100).map(publish))
    expect(ends.filter((end) => end === 'confirmed')).toHaveLength(11_000)
    expect(ends.at(-1)).toMatch(/more messages wait for their turn than there is room for/)
    expect(await publish('next')).toBe('confirmed')
    expect(await rabbit.ready(queue)).toBe(11_001)
  })

  it('does not send what it has said is not confirmed', async () => {
    const queue = await newQueue()
    const reachable = new Gate()
    const connecting = reachable.opened.then(() => connect(rabbit.url))
    const publisher = new ReopeningPublisher(
      connectorOf(() => connecting),
      'test',
      500,
    )
    const body = Buffer.from('x')
    const early = publisher.publish({ routingKey: queue, body, messageId: 'early' })
    await expect(early).rejects.toThrow(/no answer within 500 ms/)
    reachable.open()
    await connecting
    await eventually(() =>
      publisher.publish({ routingKey: queue, body, messageId: 'late' }).then(
        () => true,
        () => false,
      ),
    )
    await publisher.close()
    expect((await rabbit.takeLeft(queue)).map(({ properties }) => properties.messageId as string)).toEqual(['late'])
  })

  it(
    'says in time that the broker blocks publishers, because it runs out of memory',
    async () => {
      await using broker = await startPrivateRabbit({ conf: 'vm_memory_high_watermark.absolute = 1MB' })
      const publisher = new ReopeningPublisher(connectorOf(broker.url), 'test', 2_000)
      const message = { routingKey: 'q', body: Buffer.from('x'), messageId: 'x' }
      // The broker says so only when something was published.
      await expect(publisher.publish(message)).rejects.toThrow(/the broker blocks publishers: low on memory/)
      await expect(publisher.publish(message)).rejects.toThrow(/the broker blocks publishers: low on memory/)
      await publisher.close()
    },
    SERVER_WITHIN_MS,
  )

  it('makes retries of a producer one effect each, whatever connection is lost between publish and confirm', async () => {
    const queue = await newQueue()
    await using proxy = await startProxyOf(rabbit.url, 5672)
    await using publisher = confirmedPublisher(proxy.url)
    const effects: string[] = []
    const watching = new Watching()
    const consumer = consumerOf(watching, ({ payload }) => {
      // The others are on their way, or wait for their confirm.
      if (effects.push(payload) === 101) proxy.cut()
    })
    await using running = await runRabbit(rabbit.url, consumer, { queue, setup: 'off' })

    let sends = 0
    const untilConfirmed = async (messageId: string): Promise<void> => {
      for (;;) {
        sends++
        try {
          return await publisher.publish({ routingKey: queue, body: messageId, messageId })
        } catch {
          // With the same ID, as often as it takes.
        }
      }
    }
    const sent = bodies(200)
    await untilConfirmed('m0')
    const first = sent.slice(1, 100).map(untilConfirmed)
    setImmediate(() => proxy.cut())
    await Promise.all(first)
    await Promise.all(sent.slice(100).map(untilConfirmed))
    await eventually(async () => effects.length >= 200 && (await rabbit.ready(queue)) === 0)
    await running.stop()
    expect(sends).toBeGreaterThan(200)
    expect(effects.toSorted()).toEqual(sent.toSorted())
  })
})
