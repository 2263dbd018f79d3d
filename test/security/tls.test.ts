import { createServer, type Socket } from 'node:net'
import { once } from 'node:events'
import { connect } from 'amqplib'
import { Kafka, logLevel } from 'kafkajs'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { runRabbit } from '../../adapters/amqplib/index.ts'
import { runKafka } from '../../adapters/kafkajs/index.ts'
import { defineConsumer } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'

/** What a TLS handshake begins with, and neither protocol in the clear. */
const HANDSHAKE = 0x16

const consumer = defineConsumer({ name: 'consumer', store: memoryStore(), handle: () => {} })

/** A broker that hears the first byte of each connection, and hangs up. */
const firstBytes: (number | undefined)[] = []
const names: string[] = []
const broker = createServer((socket: Socket) => {
  socket.on('error', () => {})
  socket.once('data', (data) => {
    firstBytes.push(data[0])
    if (data.includes('broker.example')) names.push('broker.example')
    socket.destroy()
  })
})
let port: number

beforeEach(async () => {
  broker.listen(0, '127.0.0.1')
  await once(broker, 'listening')
  port = (broker.address() as { port: number }).port
})

afterEach(async () => {
  firstBytes.length = 0
  names.length = 0
  broker.close()
  await once(broker, 'close')
})

const dial = (): ReturnType<typeof connect> => connect(`amqps://127.0.0.1:${port}`, { servername: 'broker.example' })

describe('TLS is the client’s, and every connection has it:', () => {
  it('amqplib, dialled by its URL [T137]', async () => {
    await expect(runRabbit(`amqps://127.0.0.1:${port}`, consumer, { queue: 'q' })).rejects.toThrow(/\w/)
    expect(new Set(firstBytes)).toEqual(new Set([HANDSHAKE]))
  })

  it('amqplib, dialled by a function of the user, with its options [T138]', async () => {
    await expect(runRabbit(dial, consumer, { queue: 'q' })).rejects.toThrow(/\w/)
    expect(new Set(firstBytes)).toEqual(new Set([HANDSHAKE]))
    expect(names.length).toBe(firstBytes.length)
  })

  it('kafkajs, with the options of its client [T139]', async () => {
    const ssl = { servername: 'broker.example' }
    const kafka = new Kafka({ brokers: [`127.0.0.1:${port}`], ssl, logLevel: logLevel.NOTHING, retry: { retries: 0 } })
    await expect(runKafka(kafka, consumer, { topics: ['t'], group: 'g' })).rejects.toThrow(/\w/)
    expect(new Set(firstBytes)).toEqual(new Set([HANDSHAKE]))
    expect(names.length).toBe(firstBytes.length)
  })
})
