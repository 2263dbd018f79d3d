import { once, type EventEmitter } from 'node:events'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { compiled } from '../kit/compiled.ts'
import { openedOnce } from '../kit/opened.ts'
import { RecordingIntake } from '../kit/recording-intake.ts'
import { describe, expect, it } from '@jest/globals'
import { connect, type Channel } from 'amqplib'
import { openChannel } from '../../adapters/amqplib/connection/open-channel.ts'
import { connectorOf } from '../../adapters/amqplib/connection/connector.ts'
import { confirmedPublisher } from '../../adapters/amqplib/index.ts'
import { ProducerPublisher, ReopeningPublisher } from '../../adapters/amqplib/publishing/confirmed-publisher.ts'
import { rabbitSource } from '../../adapters/amqplib/source-and-publisher.ts'
import { RabbitMessage } from '../../adapters/amqplib/message/message.ts'
import { Rabbit } from './rabbit.ts'
import { Tap } from './tap.ts'
import { Gate, bodies } from './watching.ts'

let rabbit: Rabbit

openedOnce(Rabbit, (made) => (rabbit = made))

describe('a lent connection', () => {
  it('keeps no consumer after a stop during which the broker was silent', async () => {
    const queue = rabbit.name()
    const tap = new Tap(rabbit.url)
    const connection = await tap.connect()
    const { source } = rabbitSource({ connection }, { queue })
    await source.open(new RecordingIntake())
    for (const { channel } of tap.consuming) channel.cancel = () => new Promise(() => {})
    await source.close()
    await rabbit.untilUnread(queue)
    expect(tap.consuming).toHaveLength(1)
    await connection.close()
  })

  it('keeps no channel that came after nobody waited for it any more', async () => {
    const connection = await connect(rabbit.url)
    const gate = new Gate()
    const closed = new Gate()
    const late = async (): Promise<Channel> => {
      await gate.opened
      const channel = await connection.createChannel()
      channel.on('close', () => closed.open())
      return channel
    }
    await expect(openChannel(late(), 1)).rejects.toThrow('open channel: no answer within 1 ms')
    gate.open()
    await closed.opened
    await connection.close()
  })
})

describe('a start that failed', () => {
  it('leaves no publisher open', async () => {
    const queue = rabbit.name()
    await rabbit.declare(`${queue}.dead-letter`)
    const { source, publisher } = rabbitSource(rabbit.url, { queue, setup: 'check' })
    const raw = { content: Buffer.from('a'), fields: FIELDS, properties: {} }
    const deadLetter = {
      message: new RabbitMessage(raw, queue, 1),
      reason: 'conflict',
      parked: false,
      detail: '',
      errorClass: undefined,
      attempts: 0,
      consumer: 'c',
      group: 'g',
    }
    await publisher.deadLetter(deadLetter)
    await expect(source.open(new RecordingIntake())).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    await source.close()
    await expect(publisher.deadLetter(deadLetter)).rejects.toMatchObject({ code: 'STOPPED' })
  })
})

describe('a publisher with nothing to publish', () => {
  it('closes its connection after a while, and opens another for the next message', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue)
    const tap = new Tap(rabbit.url)
    const inner = new ReopeningPublisher(connectorOf(tap.connect), 'test', 10_000, 20)
    await using publisher = new ProducerPublisher(inner)
    const ids = bodies(30)
    const publish = (messageId: string) => publisher.publish({ routingKey: queue, messageId, body: messageId })
    await Promise.all(ids.map(publish))
    await once(tap.models[0] as unknown as EventEmitter, 'close')
    await publish('next')
    expect(tap.connects).toBe(2)
    expect(await rabbit.ready(queue)).toBe(31)
  })

  it('does not keep its process alive', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue)
    const program = compiled(new URL('./programs/publishes-once.ts', import.meta.url))
    await promisify(execFile)(process.execPath, [program, rabbit.url, queue], { timeout: 60_000 })
    expect(await rabbit.ready(queue)).toBe(1)
  })
})

describe('a publisher whose channel ended', () => {
  it('closes what is left of it once, however many publish next', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue)
    const tap = new Tap(rabbit.url)
    await using publisher = confirmedPublisher(tap.connect)
    const missing = { exchange: 'missing', routingKey: queue, messageId: 'x', body: '' }
    await expect(publisher.publish(missing)).rejects.toMatchObject({ code: 'BROKER_PUBLISH_REFUSED' })
    const listeners = tap.models[0]?.listenerCount('close') ?? 0
    const ids = bodies(30)
    await Promise.all(ids.map((messageId) => publisher.publish({ routingKey: queue, messageId, body: messageId })))
    expect(tap.models[0]?.listenerCount('close')).toBe(listeners + 1)
    expect(await rabbit.ready(queue)).toBe(30)
  })
})

const FIELDS = { deliveryTag: 1, redelivered: false, exchange: '', routingKey: 'q' }
