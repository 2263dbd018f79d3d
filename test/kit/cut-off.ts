import { Redis } from 'ioredis'
import { redisLease } from '../../adapters/redis/index.ts'
import { defineConsumer, type Consumer, type IdExtractor } from '../../src/index.ts'
import { startProxyOf, type FaultProxy } from './fault-proxy.ts'
import { uniqueName } from './namespace.ts'
import { Watching } from './recording-intake.ts'
import { server } from './servers/server.ts'

/** A process with a way of its own to the store that it shares with others. */
export interface CutOffMember {
  readonly name: string
  readonly consumer: Consumer
  readonly watching: Watching
  readonly cutOff: () => void
  readonly mend: () => void
}

/** Members of one group or queue on one Redis, each over a proxy. Close it after they have stopped. */
export class CutOffMembers implements AsyncDisposable {
  /** `member: id`, as handlers ran. */
  readonly handled: string[] = []
  readonly #id: IdExtractor
  readonly #prefix = uniqueName('cut_off')
  readonly #proxies: FaultProxy[] = []
  readonly #clients: Redis[] = []

  constructor(id: IdExtractor) {
    this.#id = id
  }

  async add(name: string): Promise<CutOffMember> {
    const proxy = await startProxyOf((await server('redis')).url, 6379)
    const client = new Redis(proxy.url, { maxRetriesPerRequest: 1, retryStrategy: () => 50 })
    client.on('error', () => {})
    this.#proxies.push(proxy)
    this.#clients.push(client)
    const watching = new Watching()
    const consumer = defineConsumer({
      name: 'sms',
      id: this.#id,
      decode: (value) => value,
      store: redisLease({ redis: client, prefix: this.#prefix }),
      leaseMs: 3_000,
      handlerTimeoutMs: 1_000,
      observe: watching.observe,
      handle: ({ message }) => void this.handled.push(`${name}: ${String(message.value)}`),
    })
    const cutOff = (): void => {
      proxy.refuse()
      proxy.cut()
    }
    return { name, consumer, watching, cutOff, mend: () => proxy.accept() }
  }

  /** Different messages that were handled, by anybody. */
  get ids(): ReadonlySet<string> {
    return new Set(this.handled.map((one) => one.split(': ')[1] ?? ''))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) client.disconnect()
    await Promise.all(this.#proxies.map((proxy) => proxy.stop()))
  }
}
