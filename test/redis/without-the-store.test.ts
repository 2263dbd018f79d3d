import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { removeKeys } from '../kit/servers/clients.ts'
import { Redis } from 'ioredis'
import { redisLease } from 'consume-once/redis'
import {
  defineConsumer,
  messageId,
  observedReport,
  type ConsumerSettings,
  type ObserverEvent,
  type Running,
} from '../../src/index.ts'
import { MemoryBroker, runMemory } from '../../src/memory/index.ts'
import { backends } from '../kit/backends.ts'
import { eventually } from '../kit/eventually.ts'
import { startFaultProxy, type FaultProxy } from '../kit/fault-proxy.ts'
import { uniqueName } from '../kit/namespace.ts'
import { server } from '../kit/servers/server.ts'

/** Longer than Redis takes to answer on a busy machine: a mark that is late tells of an unprotected run. */
const TIMEOUT_MS = 2_000

const describeOnRedis = backends.has('redis') ? describe : describe.skip

/** A consumer whose connection to Redis the test cuts. */
class Cut implements AsyncDisposable {
  readonly effects: string[] = []
  readonly events: ObserverEvent[] = []
  readonly #broker = new MemoryBroker()
  readonly #name = uniqueName('cut')
  readonly #proxy: FaultProxy
  readonly #redis: Redis
  readonly #behind: Redis
  readonly #running: Running

  static async open(options: Pick<ConsumerSettings<unknown, unknown, never>, 'mode' | 'onStoreDown'>): Promise<Cut> {
    const { url } = await server('redis')
    const proxy = await startFaultProxy(Number(new URL(url).port))
    return new Cut(url, proxy, options)
  }

  private constructor(
    url: string,
    proxy: FaultProxy,
    options: Pick<ConsumerSettings<unknown, unknown, never>, 'mode' | 'onStoreDown'>,
  ) {
    this.#proxy = proxy
    this.#behind = new Redis(url)
    this.#redis = new Redis({ host: '127.0.0.1', port: proxy.port, retryStrategy: () => 20 })
    this.#redis.on('error', () => {})
    const consumer = defineConsumer({
      ...options,
      name: this.#name,
      id: messageId.header('id'),
      store: redisLease({ redis: this.#redis, prefix: this.#name, queryTimeoutMs: TIMEOUT_MS }),
      observe: (event) => this.events.push(event),
      handle: ({ message }) => void this.effects.push(String(message.headers['id'])),
    })
    this.consumer = consumer
    this.#running = runMemory(this.#broker, consumer, { topic: this.#name, group: this.#name })
  }

  readonly consumer: ReturnType<typeof defineConsumer>

  get group(): string {
    return this.#name
  }

  /** Resolves when they have ended. */
  async send(...ids: readonly string[]): Promise<void> {
    await this.#running.ready()
    for (const id of ids) this.#broker.publish(this.#name, { value: Buffer.from('{}'), headers: { id } })
    await this.#broker.drained(this.#name, this.#name)
  }

  down(): void {
    this.#proxy.refuse()
    this.#proxy.cut()
  }

  up(): void {
    this.#proxy.accept()
  }

  count(type: ObserverEvent['type']): number {
    return this.events.filter((event) => event.type === type).length
  }

  outcomes(): readonly string[] {
    return this.events.flatMap((event) => (event.type === 'delivery' ? [event.outcome] : []))
  }

  async stop(): Promise<void> {
    await this.#running.stop()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.up()
    await this.stop()
    await removeKeys(this.#behind, this.#name)
    this.#redis.disconnect()
    this.#behind.disconnect()
    await this.#proxy.stop()
  }
}

describeOnRedis('a consumer that is cut off from Redis', () => {
  let cut: Cut
  const opened = async (options: Parameters<typeof Cut.open>[0]): Promise<Cut> => (cut = await Cut.open(options))
  beforeEach(() => {
    cut = undefined as unknown as Cut
  })
  afterEach(() => cut[Symbol.asyncDispose]())

  it('goes on under run-unprotected, tells each run, and is protected again', async () => {
    const { effects } = await opened({ onStoreDown: 'run-unprotected' })
    await cut.send('a')
    cut.down()
    await cut.send('a', 'b', 'c')
    expect(effects.toSorted()).toEqual(['a', 'a', 'b', 'c'])
    expect(cut.count('unprotected-run')).toBe(3)
    cut.up()
    await eventually(async () => cut.count('store-up') === 1)
    // The marks of unprotected runs follow when Redis answers.
    await eventually(async () => cut.count('marks') >= 2)
    await cut.send('b', 'c', 'd')
    expect(effects.slice(4)).toEqual(['d'])
    expect(cut.outcomes().slice(4).toSorted()).toEqual(['duplicate', 'duplicate', 'handled'])
    expect(cut.count('unprotected-run')).toBe(3)
  })

  it('delays nothing in mode observe, and reports what it learnt later', async () => {
    const { effects } = await opened({ mode: 'observe' })
    await cut.send('a')
    cut.down()
    const before = performance.now()
    await cut.send('a', 'b')
    // Less than one timeout of the store.
    expect(performance.now() - before).toBeLessThan(TIMEOUT_MS)
    expect(effects).toEqual(['a', 'a', 'b'])
    cut.up()
    await eventually(async () => cut.events.some((event) => event.type === 'observed' && event.verdict === 'duplicate'))
    await cut.stop()
    const report = await observedReport(cut.consumer, { group: cut.group })
    expect(report?.counts).toMatchObject({ run: 2, duplicate: 1, unknown: 0 })
  })
})
