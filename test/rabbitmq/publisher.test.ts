import { openedOnce } from '../kit/opened.ts'
import { RecordingIntake } from '../kit/recording-intake.ts'
import { hostname } from 'node:os'
import { describe, expect, it } from '@jest/globals'
import { connect } from 'amqplib'
import { confirmedPublisher } from '../../adapters/amqplib/index.ts'
import { rabbitSource } from '../../adapters/amqplib/source-and-publisher.ts'
import { ReopeningPublisher } from '../../adapters/amqplib/publishing/confirmed-publisher.ts'
import { connectorOf } from '../../adapters/amqplib/connection/connector.ts'
import type { BrokerError } from '../../src/index.ts'
import type { DeadLetter, Delivery } from '../../src/internal.ts'
import { startProxyOf } from '../kit/fault-proxy.ts'
import { Rabbit } from './rabbit.ts'
import { Gate, bodies } from './watching.ts'

let rabbit: Rabbit

openedOnce(Rabbit, (made) => (rabbit = made))

describe('confirmedPublisher', () => {
  it('publishes persistently, with a stable ID', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue)
    await using publisher = confirmedPublisher(rabbit.url)
    await publisher.publish({
      routingKey: queue,
      body: Buffer.from('hello'),
      messageId: 'id-1',
      headers: { tenant: 'a' },
      properties: { contentType: 'text/plain' },
    })
    const { body, properties } = await rabbit.take(queue)
    expect(body).toBe('hello')
    expect(properties).toMatchObject({ deliveryMode: 2, messageId: 'id-1', contentType: 'text/plain' })
    expect(properties.headers).toMatchObject({ tenant: 'a' })
  })

  it('refuses what no queue takes, and tells it from what is published beside it', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue)
    await using publisher = confirmedPublisher(rabbit.url)
    const results = await Promise.allSettled(
      [queue, `${queue}_missing`, queue].map((routingKey) =>
        publisher.publish({ routingKey, body: Buffer.from('x'), messageId: 'x' }),
      ),
    )
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    const [, lost] = results
    const error = (lost as PromiseRejectedResult).reason as BrokerError
    expect(error.code).toBe('BROKER_PUBLISH_REFUSED')
    expect(error.message).toBe(`RabbitMQ did not confirm the message: NO_ROUTE (queue ${queue}_missing)`)
  })

  it('recovers from a missing exchange, which closes its channel', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue)
    await using publisher = confirmedPublisher(rabbit.url)
    const message = { routingKey: queue, body: Buffer.from('x'), messageId: 'x' }
    await expect(publisher.publish({ ...message, exchange: `${queue}_none` })).rejects.toThrow(
      /NOT_FOUND - no exchange/,
    )
    await publisher.publish(message)
    expect((await rabbit.take(queue)).body).toBe('x')
  })

  it('takes a negative confirm for a failure', async () => {
    const queue = rabbit.name()
    const full = { 'x-queue-type': 'classic', 'x-max-length': 0, 'x-overflow': 'reject-publish' }
    await rabbit.declare(queue, full)
    await using publisher = confirmedPublisher(rabbit.url)
    const publishing = publisher.publish({ routingKey: queue, body: Buffer.from('x'), messageId: 'x' })
    await expect(publishing).rejects.toMatchObject({ code: 'BROKER_PUBLISH_REFUSED' })
  })

  it('fails what was under way when the connection is lost, and connects again', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue)
    await using proxy = await startProxyOf(rabbit.url, 5672)
    await using publisher = confirmedPublisher(proxy.url)
    const publish = (body: string): Promise<void> =>
      publisher.publish({ routingKey: queue, body: Buffer.from(body), messageId: body })
    await publish('first')
    const lost = bodies(50).map((body) => publish(body).catch((error: BrokerError) => error.code))
    proxy.cut()
    proxy.refuse()
    expect(new Set(await Promise.all(lost))).toContain('BROKER_PUBLISH_REFUSED')
    await expect(publish('refused')).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' })
    proxy.accept()
    await publish('last')
    const left = (await rabbit.takeLeft(queue)).map(({ body }) => body)
    expect([left[0], left.at(-1)]).toEqual(['first', 'last'])
  })

  it('takes no confirm in time for a failure', async () => {
    const silence = new Gate()
    const connecting = silence.opened.then(() => Promise.reject(new Error('over')))
    const publisher = new ReopeningPublisher(
      connectorOf(() => connecting),
      'test',
      20,
    )
    await expect(publisher.publish({ routingKey: 'q', body: Buffer.from('x'), messageId: 'x' })).rejects.toMatchObject({
      code: 'BROKER_PUBLISH_REFUSED',
    })
    silence.open()
  })

  it('refuses at once while the broker blocks publishers', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue)
    const model = await connect(rabbit.url)
    const publisher = confirmedPublisher({ connection: model })
    const message = { routingKey: queue, body: Buffer.from('x'), messageId: 'x' }
    await publisher.publish(message)
    model.emit('blocked', 'low on memory')
    await expect(publisher.publish(message)).rejects.toThrow(/blocks publishers: low on memory/)
    model.emit('unblocked')
    await publisher.publish(message)
    await publisher.close()
    await model.close()
  })

  it('refuses after its end, which may come twice or first', async () => {
    const publisher = confirmedPublisher(rabbit.url)
    await publisher.close()
    await publisher.close()
    await expect(publisher.publish({ routingKey: 'q', body: Buffer.from('x'), messageId: 'x' })).rejects.toMatchObject({
      code: 'STOPPED',
    })
  })
})

describe('the dead-letter queue', () => {
  /** Delivers one message and dead-letters it. */
  async function moved(
    options: Parameters<Rabbit['send']>[2],
    deadLetter: Partial<DeadLetter> = {},
    body = 'payload',
  ): Promise<Awaited<ReturnType<Rabbit['take']>> & { readonly queue: string }> {
    const queue = rabbit.name()
    const { source, publisher } = rabbitSource(rabbit.url, { queue })
    try {
      const intake = new RecordingIntake()
      await source.open(intake)
      await rabbit.send(queue, [body], options)
      await intake.untilDelivered(1)
      const { message } = intake.deliveries[0] as Delivery
      await publisher.deadLetter({ ...DEAD_LETTER, message, ...deadLetter })
    } finally {
      await source.close()
    }
    return { ...(await rabbit.take(`${queue}.dead-letter`)), queue }
  }

  const DEAD_LETTER = {
    key: 'U1nmhO_WlHMIQdRLsEpnZw',
    reason: 'attempts-spent',
    parked: false,
    detail: 'the provider said no',
    errorClass: 'ProviderError',
    attempts: 5,
    consumer: 'sms',
    group: 'q',
  }

  it('keeps body, message ID and properties, and says why in headers', async () => {
    const { queue, body, properties } = await moved(
      { messageId: 'id-1', contentType: 'application/json', correlationId: 'c', type: 't', headers: { tenant: 'a' } },
      { parked: true },
    )
    expect(body).toBe('payload')
    expect(properties).toMatchObject({
      messageId: 'id-1',
      contentType: 'application/json',
      correlationId: 'c',
      type: 't',
      deliveryMode: 2,
    })
    const { 'x-delivery-count': _ofTheGet, ...headers } = properties.headers ?? {}
    expect(headers).toEqual({
      tenant: 'a',
      'consume-once-key': 'U1nmhO_WlHMIQdRLsEpnZw',
      'consume-once-reason': 'attempts-spent',
      'consume-once-parked': true,
      'consume-once-detail': 'the provider said no',
      'consume-once-error-class': 'ProviderError',
      'consume-once-attempts': 5,
      'consume-once-consumer': 'sms',
      'consume-once-host': hostname(),
      'consume-once-first-seen-at': expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      'consume-once-first-failure-at': expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      'consume-once-origin-queue': queue,
      'consume-once-origin-exchange': '',
      'consume-once-origin-routing-key': queue,
      'consume-once-dead-lettered-at': expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      'consume-once-publish-id': expect.any(String),
    })
  })

  it('leaves out what would end, refuse or multiply the copy', async () => {
    const other = rabbit.name()
    await rabbit.declare(other)
    const { properties } = await moved({
      expiration: '60000',
      userId: 'guest',
      CC: [other],
      headers: { 'x-death': [{ queue: 'x' }], 'x-delivery-count': 3, 'x-first-death-queue': 'x', 'x-own': 'kept' },
    })
    expect(properties.expiration).toBeUndefined()
    expect(properties.userId).toBeUndefined()
    expect(properties.headers).toMatchObject({ 'x-own': 'kept' })
    expect(properties.headers?.['x-delivery-count']).not.toBe(3)
    for (const name of ['x-death', 'x-first-death-queue', 'CC']) expect(properties.headers).not.toHaveProperty([name])
    // One copy came by the sender's CC, none by ours.
    expect(await rabbit.takeLeft(other)).toHaveLength(1)
  })

  it('carries the origin of a copy along, and nothing else of its earlier life', async () => {
    const { properties } = await moved(
      {
        headers: {
          'consume-once-origin-queue': 'orders',
          'consume-once-origin-exchange': 'shop',
          'consume-once-origin-routing-key': 'order.new',
          'consume-once-parked': true,
          'consume-once-tombstone': true,
        },
      },
      { errorClass: undefined },
      '',
    )
    expect(properties.headers).toMatchObject({
      'consume-once-origin-queue': 'orders',
      'consume-once-origin-exchange': 'shop',
      'consume-once-origin-routing-key': 'order.new',
      'consume-once-tombstone': true,
    })
    expect(properties.headers).not.toHaveProperty(['consume-once-parked'])
    expect(properties.headers).not.toHaveProperty(['consume-once-error-class'])
  })

  it('caps its headers: 1 KB of detail, and of the sender the small ones first [T151]', async () => {
    const { properties } = await moved(
      { headers: { big: 'x'.repeat(40_000), 'message-id': 'id-1' } },
      { detail: 'é'.repeat(2000) },
    )
    const { headers } = properties
    expect(headers).toMatchObject({ 'message-id': 'id-1', 'consume-once-headers-dropped': 'big' })
    expect(headers).not.toHaveProperty(['big'])
    expect(headers?.['consume-once-detail']).toBe('é'.repeat(512))
  })

  it('refuses where the queue is missing, until it is there', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue)
    const { source, publisher } = rabbitSource(rabbit.url, { queue, setup: 'off' })
    const intake = new RecordingIntake()
    await source.open(intake)
    await rabbit.send(queue, ['a'])
    await intake.untilDelivered(1)
    const { message } = intake.deliveries[0] as Delivery
    const deadLetter = { ...DEAD_LETTER, message }
    await expect(publisher.deadLetter(deadLetter)).rejects.toMatchObject({ code: 'BROKER_PUBLISH_REFUSED' })
    await rabbit.declare(`${queue}.dead-letter`)
    await publisher.deadLetter(deadLetter)
    await source.close()
    expect((await rabbit.takeLeft(`${queue}.dead-letter`)).map(({ body }) => body)).toEqual(['a'])
    expect((await rabbit.takeLeft(queue)).map(({ body }) => body)).toEqual(['a'])
  })

  it('moves a message whose headers cannot be written, without them', async () => {
    const queue = rabbit.name()
    const { source, publisher } = rabbitSource(rabbit.url, { queue })
    await source.open(new RecordingIntake())
    const message = {
      system: 'rabbitmq' as const,
      destination: queue,
      origin: queue,
      position: '1/1',
      key: null,
      value: Buffer.from('x'),
      headers: { bad: Symbol('no type of AMQP') },
    }
    await publisher.deadLetter({ ...DEAD_LETTER, message })
    await source.close()
    const { properties } = await rabbit.take(`${queue}.dead-letter`)
    expect(properties.headers).toMatchObject({ 'consume-once-reason': 'attempts-spent' })
    expect(properties.headers).not.toHaveProperty(['bad'])
  })
})
