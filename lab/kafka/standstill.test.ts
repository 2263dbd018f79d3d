import { afterEach, describe, expect, it } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import kafkajs from 'kafkajs'
import { runKafka } from '../../adapters/kafkajs/index.ts'
import { defineConsumer, messageId, type Running } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { eventually } from '../../test/kit/eventually.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { Watching } from '../../test/kit/recording-intake.ts'
import { startPrivateKafka, type PrivateKafka } from '../../test/kit/servers/private-kafka.ts'
import { Cluster, FAST } from '../../test/kafka/kit.ts'

const { CompressionCodecs, CompressionTypes } = kafkajs

let kafka: PrivateKafka
let cluster: Cluster
const running: Running[] = []
const usual = CompressionCodecs[CompressionTypes.ZSTD]

const SESSION_MS = 1_500

/** A Zstandard frame of one raw block: magic, descriptor and size of the content, head of the last block. */
const HEAD = 12

function zstd(bytes: Buffer): Buffer {
  const head = Buffer.alloc(HEAD)
  head.writeUInt32LE(0xfd2fb528, 0)
  head[4] = 0xa0
  head.writeUInt32LE(bytes.length, 5)
  head.writeUIntLE(bytes.length * 8 + 1, 9, 3)
  return Buffer.concat([head, bytes])
}

/** A codec that blocks the process for longer than the session when it unpacks one record batch. */
const SLOW_CODEC = (): object => ({
  compress: async (encoder: { readonly buffer: Buffer }) => zstd(encoder.buffer),
  decompress: async (packed: Buffer) => {
    const bytes = packed.subarray(HEAD)
    if (bytes.includes('poison')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, SESSION_MS * 1.6)
    return bytes
  },
})

beforeAllOpen(async (own) => {
  kafka = own(await startPrivateKafka())
  cluster = own(await Cluster.open(kafka.brokers))
  CompressionCodecs[CompressionTypes.ZSTD] = SLOW_CODEC
  own(() => (CompressionCodecs[CompressionTypes.ZSTD] = usual))
})
afterEach(() => Promise.all(running.splice(0).map((one) => one.stop({ deadlineMs: 100 }))))

async function send(topic: string, partition: number, id: string): Promise<void> {
  const messages = [{ value: id, headers: { id }, partition }]
  await cluster.producer.send({ topic, messages, acks: -1, compression: CompressionTypes.ZSTD })
}

describe('a record batch that takes longer than the session to decode', () => {
  it('is found and its partition held by name, and all others get on', async () => {
    const [topic, group] = [await cluster.topic(2), uniqueName('group')]
    for (const id of ['before', 'poison', 'behind']) await send(topic, 0, id)
    await send(topic, 1, 'other')
    const watching = new Watching()
    const handled: string[] = []
    const consumer = defineConsumer({
      name: 'sms',
      id: messageId.header('id'),
      decode: (value) => value,
      store: memoryStore(),
      observe: watching.observe,
      handle: ({ message }) => void handled.push(String(message.headers['id'])),
    })
    const session = { sessionTimeout: SESSION_MS, rebalanceTimeout: SESSION_MS, heartbeatInterval: 300 }
    const one = await runKafka(cluster.client(), consumer, {
      ...FAST,
      topics: [topic],
      group,
      consumerConfig: { ...FAST.consumerConfig, ...session },
    })
    running.push(one)
    await watching.untilTold('standstill')
    expect(one.health()).toMatchObject({ live: true, ready: false })
    expect(one.health().checks['source']).toContain('joined 3 times without getting on')
    await watching.untilTold('batch-held')
    const [told] = watching.events.filter((event) => event.type === 'source' && event.event === 'batch-held')
    const which = `${topic}/0 is held at offset 1: to fetch and decode its record batch 1 to 1 takes longer than the session`
    expect(told).toMatchObject({ isWarning: true, detail: expect.stringContaining(which) })
    expect(told).toMatchObject({ detail: expect.stringContaining('set its offset to 2') })

    await send(topic, 1, 'later')
    await eventually(async () => (await cluster.committed(group, topic))[1] === 2)
    expect((await cluster.committed(group, topic))[0]).toBeLessThanOrEqual(1)
    expect(handled).toEqual(expect.arrayContaining(['before', 'other', 'later']))
    await eventually(() => one.health().partitions.length === 2)
    expect(one.health()).toMatchObject({ live: true, ready: false })
    expect(one.health().checks['source']).toContain(`${topic}/0 is held at offset 1:`)
    expect(one.health().partitions.find(({ name }) => name === `${topic}/0`)?.paused).toEqual(['stalls'])
    expect(watching.told('batch-held')).toBe(1)
  }, 150_000)
})
