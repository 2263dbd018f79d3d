import { afterEach, describe, expect, it } from '@jest/globals'
import { defineConsumer, messageId, type Consumer, type IdExtractor, type Observer } from 'consume-once'
import { memoryStore } from 'consume-once/memory'
import { runKafka } from 'consume-once/kafkajs'
import { runRabbit } from 'consume-once/amqplib'
import { Meter } from '../../src/signals/meter.ts'
import { Cluster, FAST } from '../kafka/kit.ts'
import { eventually } from '../kit/eventually.ts'
import { ManualClock } from '../kit/manual-clock.ts'
import { uniqueName } from '../kit/namespace.ts'
import { gate } from '../kit/rig.ts'
import { Rabbit } from '../rabbitmq/rabbit.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
}, 30_000)

const IDS = Array.from({ length: 30 }, (_, at) => `m-${at}`)

/** A consumer whose handlers wait for `letGo`, and its gauge of what waits at the broker. */
function waiting(id: IdExtractor): {
  readonly consumer: Consumer
  readonly letGo: () => void
  /** By destination. */
  readonly backlog: () => Promise<Record<string, number>>
} {
  const clock = new ManualClock()
  const meter = new Meter({ clock })
  const open = gate()
  const consumer = defineConsumer({
    name: uniqueName('backlog'),
    id,
    store: memoryStore(),
    concurrency: 1,
    maxInFlight: 5,
    decode: (bytes) => Buffer.from(bytes ?? []).toString(),
    observe: meter.observe as Observer,
    handle: () => open.opened,
  })
  const backlog = async (): Promise<Record<string, number>> => {
    await clock.advance(15_000)
    const { backlog: told } = await meter.gauges()
    return Object.fromEntries(told.map(({ labels, value }) => [labels['destination'] ?? '', value]))
  }
  return { consumer, letGo: () => open.open(), backlog }
}

describe('the backlog at the broker', () => {
  it('of a Kafka group is what it has not committed, in all partitions', async () => {
    const cluster = await Cluster.open()
    ends.push(() => cluster[Symbol.asyncDispose]())
    const topic = await cluster.topic(2)
    const group = uniqueName('backlog')
    const { consumer, letGo, backlog } = waiting(messageId.header('message-id'))
    for (const [at, id] of IDS.entries())
      await cluster.send(topic, [{ value: id, headers: { 'message-id': id } }], at % 2)
    const running = await runKafka(cluster.client(), consumer, { ...FAST, topics: [topic], group })
    ends.push(() => running.stop({ deadlineMs: 0 }))
    // A broker may not answer for partitions that it has just made.
    await eventually(async () => topic in (await backlog()), 20_000)
    expect(await backlog()).toEqual({ [topic]: 30 })
    letGo()
    await eventually(async () => (await backlog())[topic] === 0, 20_000)
    expect(running.health().counts['settled-without-run']).toBe(0)
  }, 60_000)

  it('of a RabbitMQ queue is what is ready', async () => {
    const rabbit = await Rabbit.open()
    ends.push(() => rabbit[Symbol.asyncDispose]())
    const queue = rabbit.name()
    await rabbit.declare(queue)
    await rabbit.send(queue, IDS)
    const { consumer, letGo, backlog } = waiting(messageId.property())
    const running = await runRabbit(rabbit.url, consumer, { queue })
    ends.push(() => running.stop({ deadlineMs: 0 }))
    await eventually(async () => {
      const told = (await backlog())[queue] ?? 0
      return told > 0 && told < 30 && told === (await rabbit.ready(queue))
    }, 20_000)
    letGo()
    await eventually(async () => (await backlog())[queue] === 0, 20_000)
    expect(await rabbit.ready(queue)).toBe(0)
  }, 60_000)
})
