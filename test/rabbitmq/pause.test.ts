import { describe, expect, it } from '@jest/globals'
import { connect, type ChannelModel } from 'amqplib'
import { runRabbit } from '../../adapters/amqplib/index.ts'
import { defineConsumer, messageId, type Running } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { eventually } from '../kit/eventually.ts'
import { openedOnce } from '../kit/opened.ts'
import { Rabbit } from './rabbit.ts'
import { stoppedAfterEach } from '../kit/after-each.ts'

let rabbit: Rabbit
const running = stoppedAfterEach<Running>()

openedOnce(Rabbit, (made) => (rabbit = made))

describe('a RabbitMQ consumer that a person pauses', () => {
  it('stays on its queue and begins nothing, also after its connection was lost, until it is resumed', async () => {
    const queue = rabbit.name()
    const handled: string[] = []
    const connections: ChannelModel[] = []
    const dial = async (): Promise<ChannelModel> => {
      const connection = await connect(rabbit.url)
      connections.push(connection)
      return connection
    }
    const consumer = defineConsumer({
      name: 'sms',
      id: messageId.property(),
      decode: (value) => value,
      store: memoryStore(),
      handle: ({ message }) => void handled.push(String(message.messageId)),
    })
    const one = await runRabbit(dial, consumer, { queue })
    running.push(one)
    await rabbit.send(queue, ['a'])
    await eventually(async () => handled.length === 1)
    one.pause({ by: 'kim', reason: 'OPS-812' })
    await rabbit.send(queue, ['b', 'c'])
    await eventually(async () => (await rabbit.ready(queue)) === 0)
    expect(await rabbit.consumers(queue)).toBe(1)
    const paused = { live: true, ready: false, state: 'paused', checks: { source: 'paused by kim: OPS-812' } }
    expect(one.health()).toMatchObject(paused)
    for (const connection of connections) await connection.close()
    await eventually(async () => connections.length > 1 && (await rabbit.consumers(queue)) === 1)
    await eventually(async () => (await rabbit.ready(queue)) === 0)
    expect(one.health()).toMatchObject(paused)
    expect(handled).toEqual(['a'])
    one.resume()
    await eventually(async () => handled.length >= 3)
    expect(handled.toSorted()).toEqual(['a', 'b', 'c'])
    await eventually(async () => one.health().ready)
  }, 120_000)
})
