import { eventually } from '../../test/kit/eventually.ts'
import { RecordingIntake } from '../../test/kit/recording-intake.ts'
import { readFileSync } from 'node:fs'
import { afterEach, describe, expect, it } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { connect, type ChannelModel } from 'amqplib'
import { connect as connectWithOldest } from 'amqplib-0.10'
import { connect as connectWithFirst } from 'amqplib-1'
import { confirmedPublisher, type RabbitConnect } from '../../adapters/amqplib/index.ts'
import { rabbitSource } from '../../adapters/amqplib/source-and-publisher.ts'
import type { Source } from '../../src/internal.ts'
import { describeSourceContract } from '../../testing/contract/source/contract.ts'
import { startProxyOf, type ProxyOf } from '../../test/kit/fault-proxy.ts'
import { NO_KEYS, rabbitHarness } from '../../test/rabbitmq/harness.ts'
import { Rabbit } from '../../test/rabbitmq/rabbit.ts'
import { Tap } from '../../test/rabbitmq/tap.ts'
import { bodies, textOf } from '../../test/rabbitmq/watching.ts'

type Connect = (url: string) => Promise<ChannelModel>

/** By the name they are installed under. That the slices fit the types of each is a type test. */
const VERSIONS = {
  'amqplib-0.10': connectWithOldest as unknown as Connect,
  'amqplib-1': connectWithFirst as Connect,
  amqplib: connect,
} satisfies Record<string, Connect>

let rabbit: Rabbit
let proxy: ProxyOf
let opened: Source[] = []

beforeAllOpen(async (own) => {
  rabbit = own(await Rabbit.open())
  proxy = own(await startProxyOf(rabbit.url, 5672))
})
afterEach(async () => {
  await Promise.all(opened.map((source) => source.close()))
  opened = []
})

async function open(
  to: RabbitConnect,
  queue: string,
): Promise<{ readonly source: Source; readonly intake: RecordingIntake }> {
  const { source } = rabbitSource(to, { queue })
  opened.push(source)
  const intake = new RecordingIntake()
  await source.open(intake)
  return { source, intake }
}

it('the peer range begins with the oldest version that is tested, and ends after the newest', () => {
  const { peerDependencies } = manifest('../../package.json')
  const tested = Object.keys(VERSIONS).map((name) => manifest(`../../node_modules/${name}/package.json`).version)
  expect(tested).toEqual([
    expect.stringMatching(/^0\.10\./),
    expect.stringMatching(/^1\./),
    expect.stringMatching(/^2\./),
  ])
  expect(peerDependencies?.['amqplib']).toBe(`>=${tested[0]} <3`)
})

// With the newest it is kept by amqplib-contract.test.ts.
for (const name of ['amqplib-0.10', 'amqplib-1'] as const) {
  const createHarness = (): ReturnType<typeof rabbitHarness> => rabbitHarness((url) => () => VERSIONS[name](url))
  describeSourceContract(name, { createHarness, lacks: { keys: NO_KEYS } }, { describe, it })
}

describe.each(Object.entries(VERSIONS))('with %s', (_name, connectBy) => {
  it('consumes over a closed channel, a deleted queue and a cut connection, and stops without a redelivery', async () => {
    const queue = rabbit.name()
    const tap = new Tap(proxy.url, connectBy)
    const { source, intake } = await open(tap.connect, queue)
    await rabbit.send(queue, bodies(3))
    await intake.untilDelivered(3)
    tap.consuming[0]?.channel.ack({ fields: { deliveryTag: 99 } } as never)
    await intake.untilTold('channel-closed')
    expect(intake.deliveries[0]?.settle()).toBe(false)
    await intake.untilDelivered(6)
    expect(tap.connects).toBe(1)

    await rabbit.delete(queue)
    await intake.untilTold('consumer-cancelled')
    await intake.untilTold('rebuilt', 2)
    expect(intake.told('connection-lost').length).toBe(0)
    await rabbit.send(queue, bodies(2, 'new'))
    await intake.untilDelivered(8)

    proxy.cut()
    await intake.untilTold('connection-lost')
    await intake.untilTold('rebuilt', 3)
    await intake.untilDelivered(10)
    const last = intake.deliveries.slice(8)
    expect(last.map(textOf)).toEqual(bodies(2, 'new'))
    for (const delivery of last) expect(delivery.settle()).toBe(true)
    await source.close()
    expect(tap.consuming.at(-1)?.frames).toEqual([{ kind: 'cancel' }, { kind: 'ack', tag: 2, multiple: true }])
    expect(await rabbit.takeLeft(queue)).toEqual([])
    await eventually(() => proxy.connections === 0)
  })

  it('leaves a lent connection open, after faults of its channel too, and without listeners of its own', async () => {
    const queue = rabbit.name()
    const tap = new Tap(rabbit.url, connectBy)
    const connection = await tap.connect()
    const listeners = connection.listenerCount('close')
    const { source, intake } = await open({ connection }, queue)
    await rabbit.send(queue, ['a'])
    await intake.untilDelivered(1)
    tap.consuming[0]?.channel.ack({ fields: { deliveryTag: 99 } } as never)
    await intake.untilDelivered(2)
    expect(intake.deliveries[1]?.settle()).toBe(true)
    await source.close()
    expect(connection.listenerCount('close')).toBe(listeners)
    const channel = await connection.createChannel()
    expect(await channel.checkQueue(queue)).toMatchObject({ messageCount: 0, consumerCount: 0 })
    await connection.close()
  })

  it('publishes what is confirmed, refuses what no queue takes, and goes on after a missing exchange', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue)
    await using publisher = confirmedPublisher(() => connectBy(rabbit.url))
    const message = { routingKey: queue, body: Buffer.from('x'), messageId: 'x' }
    await expect(publisher.publish({ ...message, routingKey: `${queue}_none` })).rejects.toThrow(/NO_ROUTE/)
    await expect(publisher.publish({ ...message, exchange: `${queue}_none` })).rejects.toThrow(/NOT_FOUND/)
    await publisher.publish(message)
    expect((await rabbit.take(queue)).body).toBe('x')
  })
})

interface Manifest {
  readonly version: string
  readonly peerDependencies?: Readonly<Record<string, string>>
}

function manifest(path: string): Manifest {
  return JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as Manifest
}
