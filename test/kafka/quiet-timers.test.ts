import { openedOnce } from '../kit/opened.ts'
import { eventually } from '../kit/eventually.ts'
import { RecordingIntake } from '../kit/recording-intake.ts'
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { Kafka, logLevel } from 'kafkajs'
import { quietKafkaTimers } from '../../adapters/kafkajs/index.ts'
import { uniqueName } from '../kit/namespace.ts'
import { freePort } from '../kit/servers/ports.ts'
import { Cluster } from './kit.ts'

interface Queue {
  readonly inflight: ReadonlyMap<number, unknown>
  push(request: { entry: object; expectResponse: boolean; sendRequest: () => void; requestTimeout?: number }): void
  maybeThrottle(forMs: number): void
  fulfillRequest(response: { correlationId: number; payload: Buffer; size: number }): void
  scheduleRequestTimeoutCheck(): void
  destroy(): void
}

type QueueClass = new (options: object) => Queue

const RequestQueue = createRequire(import.meta.url)('kafkajs/src/network/requestQueue/index.js') as QueueClass
const kafka = new Kafka({ brokers: ['none:9092'], logLevel: logLevel.NOTHING })
const asItWas = RequestQueue.prototype.scheduleCheckPendingRequests as unknown

function restore(method: unknown): void {
  Object.assign(RequestQueue.prototype, { scheduleCheckPendingRequests: method })
}

let cluster: Cluster

openedOnce(Cluster, (made) => (cluster = made))
beforeEach(() => restore(asItWas))
afterEach(async () => {
  jest.restoreAllMocks()
  await cluster.closeSources()
})

/** Timers that are due at once, set again and again by each connection. */
function loops(): () => number {
  const set = jest.spyOn(globalThis, 'setTimeout')
  return () => set.mock.calls.filter(([, ms]) => Number(ms) <= 1).length
}

/** The file of a second copy of kafkajs. */
function copyOf(dir: string): string {
  cpSync('node_modules/kafkajs', join(dir, 'node_modules/kafkajs'), { recursive: true })
  return join(dir, 'node_modules/kafkajs/index.js')
}

function bundleIn(dir: string, { minify }: { readonly minify: boolean }): string {
  const outfile = join(dir, 'kafkajs.cjs')
  execFileSync('node_modules/.bin/esbuild', [
    'node_modules/kafkajs/index.js',
    '--bundle',
    '--platform=node',
    `--minify=${minify}`,
    `--outfile=${outfile}`,
    '--log-level=error',
  ])
  return outfile
}

function queueOf(options: object): Queue {
  const logger = { debug: () => {}, warn: () => {} }
  return new RequestQueue({ requestTimeout: 30_000, clientId: 'c', broker: 'b', logger, ...options })
}

describe('kafkajs as it is', () => {
  it('sets timers for ever, for each connection (K11)', async () => {
    const set = loops()
    await eventually(async () => set() > 100)
    expect(set()).toBeGreaterThan(100)
  })
})

describe('quiet timers', () => {
  it('end the loop of connections that are there and of new ones, which go on as before', async () => {
    expect(await quietKafkaTimers(kafka)).toBe(true)
    expect(await quietKafkaTimers(kafka)).toBe(true)
    const [topic, groupId] = [await cluster.topic(2), uniqueName('group')]
    const intake = new RecordingIntake()
    intake.onDeliver = (delivery) => delivery.settle()
    // With one request at a time, the others wait for the method that is replaced.
    const consumer = { maxInFlightRequests: 1 }
    await cluster.open({ topics: [topic], group: groupId, consumerConfig: consumer }, intake)
    const set = loops()
    for (const partition of [0, 1]) await cluster.send(topic, ['a', 'b', 'c'], partition)
    await cluster.untilCommitted(groupId, topic, [3, 3])
    await sleep(300)
    expect(set()).toBe(0)
  })

  it('leave a kafkajs alone that is not the one they know', async () => {
    const other = jest.fn()
    restore(other)
    expect(await quietKafkaTimers(kafka)).toBe(false)
    expect(RequestQueue.prototype.scheduleCheckPendingRequests).toBe(other)
    restore(undefined)
    expect(await quietKafkaTimers(kafka)).toBe(false)
  })

  it('want a client, and change nothing for one that is not of kafkajs', async () => {
    await expect(quietKafkaTimers(undefined as never)).rejects.toThrow(
      'quietKafkaTimers: expected a Kafka client, got undefined',
    )
    expect(await quietKafkaTimers({ consumer: jest.fn<Kafka['consumer']>() })).toBe(false)
    expect(RequestQueue.prototype.scheduleCheckPendingRequests).toBe(asItWas)
  })

  it.each([
    ['of a second copy', (dir: string) => copyOf(dir)],
    ['in a bundle', (dir: string) => bundleIn(dir, { minify: false })],
    ['in a bundle that is minified', (dir: string) => bundleIn(dir, { minify: true })],
  ])('are of the kafkajs that made the client, %s', async (_, kafkajsIn) => {
    const dir = mkdtempSync(join(tmpdir(), 'consume-once-kafkajs-'))
    const other = createRequire(import.meta.url)(kafkajsIn(dir)) as typeof import('kafkajs')
    const itsKafka = new other.Kafka({ brokers: cluster.brokers, logLevel: logLevel.NOTHING })
    const admin = itsKafka.admin()
    try {
      expect(await quietKafkaTimers(kafka)).toBe(true)
      await admin.connect()
      const set = loops()
      await eventually(async () => set() > 100)
      expect(await quietKafkaTimers(itsKafka)).toBe(true)
      expect(await quietKafkaTimers(itsKafka)).toBe(true)
      await sleep(50)
      const before = set()
      await sleep(200)
      expect(set()).toBe(before)
      expect(await admin.listTopics()).toEqual(expect.any(Array))
    } finally {
      await admin.disconnect()
      rmSync(dir, { recursive: true })
    }
  })

  it('let a request time out that is never answered', async () => {
    await quietKafkaTimers(kafka)
    const port = await freePort()
    const sockets = new Set<Socket>()
    const silent = createServer((socket) => sockets.add(socket.on('error', () => {})))
    await new Promise<void>((resolve) => silent.listen(port, '127.0.0.1', resolve))
    const options = { brokers: [`127.0.0.1:${port}`], requestTimeout: 200, retry: { retries: 0 } }
    const admin = new Kafka({ ...options, logLevel: logLevel.NOTHING }).admin()
    await expect(admin.connect()).rejects.toThrow('timed out')
    await admin.disconnect()
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => {
      silent.close(resolve)
    })
  })

  describe('on a queue of requests', () => {
    let queue: Queue
    let sent: { readonly id: number; readonly at: number }[]
    const push = (id: number): void =>
      queue.push({
        entry: { correlationId: id, resolve: () => {}, reject: () => {} },
        expectResponse: true,
        sendRequest: () => void sent.push({ id, at: performance.now() }),
      })
    const answer = (correlationId: number): void =>
      queue.fulfillRequest({ correlationId, payload: Buffer.alloc(0), size: 0 })
    const ids = (): readonly number[] => sent.map(({ id }) => id)

    beforeEach(async () => {
      sent = []
      await quietKafkaTimers(kafka)
    })
    afterEach(() => queue.destroy())

    it('keep what the broker throttles back for as long as it asked', async () => {
      queue = queueOf({})
      const throttledAt = performance.now()
      queue.maybeThrottle(150)
      push(1)
      push(2)
      expect(ids()).toEqual([])
      await eventually(async () => sent.length === 2)
      expect(ids()).toEqual([1, 2])
      expect((sent[0]?.at ?? 0) - throttledAt).toBeGreaterThanOrEqual(149)
    })

    it('send what waits for another request when that is answered', async () => {
      queue = queueOf({ maxInFlightRequests: 1 })
      push(1)
      push(2)
      push(3)
      expect(ids()).toEqual([1])
      answer(1)
      expect(ids()).toEqual([1, 2])
      answer(2)
      answer(3)
      expect(ids()).toEqual([1, 2, 3])
      const set = loops()
      await sleep(50)
      expect(set()).toBe(0)
    })

    it('send what waits for another request when that times out', async () => {
      queue = queueOf({ maxInFlightRequests: 1, requestTimeout: 50, enforceRequestTimeout: true })
      queue.scheduleRequestTimeoutCheck()
      push(1)
      push(2)
      expect(ids()).toEqual([1])
      await eventually(async () => sent.length === 2)
      expect(ids()).toEqual([1, 2])
    })
  })
})
