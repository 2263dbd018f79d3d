import { beforeAll, describe, expect, it, jest } from '@jest/globals'
import { Redis } from 'ioredis'
import { defineConsumer, TerminalError, type Consumer, type HandlerContext, type Store } from 'consume-once'
import { memoryStore } from 'consume-once/memory'
import { bullmqProcessor, type BullmqOptions, type BullmqProcessor, type JobLike } from 'consume-once/bullmq'
import { redisLease } from 'consume-once/redis'
import { backends } from '../kit/backends.ts'
import { uniqueName } from '../kit/namespace.ts'
import { server, SERVER_WITHIN_MS } from '../kit/servers/server.ts'
import { gate } from '../kit/rig.ts'

/** What is used of bullmq. */
interface Bullmq {
  readonly Queue: new (name: string, options: object) => Queue
  readonly Worker: new (name: string, processor: BullmqProcessor, options: object) => Worker
}

interface Queue {
  add(name: string, data: unknown, options?: object): Promise<unknown>
  obliterate(options: { readonly force: boolean }): Promise<void>
  close(): Promise<void>
}

interface Worker {
  on(event: string, listener: (...args: never[]) => void): this
  close(force?: boolean): Promise<void>
}

const describeOnRedis = backends.has('redis') ? describe : describe.skip

describeOnRedis('a worker of BullMQ', () => {
  const { Queue, Worker } = jest.requireActual<Bullmq>('bullmq')
  let url = ''
  beforeAll(async () => {
    url = (await server('redis')).url
  }, SERVER_WITHIN_MS)

  /** Runs until all workers and clients are closed. */
  async function onQueue(run: (bench: Bench) => Promise<void>): Promise<void> {
    const bench = new Bench(url, Queue, Worker)
    try {
      await run(bench)
    } finally {
      await bench.close()
    }
  }

  it('handles a stalled job once, though BullMQ gives it to a second worker while the first still runs', async () => {
    await onQueue(async (bench) => {
      const [began, end] = [gate(), gate()]
      const effects: string[] = []
      const store = bench.store()
      const handle = async ({ message }: HandlerContext<unknown>): Promise<string> => {
        effects.push(message.position)
        began.open()
        await end.opened
        return 'receipt-1'
      }
      const stall = { lockDuration: 300, stalledInterval: 200, skipLockRenewal: true, maxStalledCount: 5 }
      const first = bench.work(consumerOf(handle, store), stall)
      await bench.queue.add('send', { to: '+15550100' }, { jobId: 'sms-1' })
      await began.opened
      const second = bench.work(consumerOf(handle, bench.store()), { ...stall, skipLockRenewal: false })
      await second.until('active')
      expect(effects).toEqual(['sms-1'])
      end.open()
      expect(await second.until('completed')).toBe('receipt-1')
      expect(effects).toEqual(['sms-1'])
      expect(first.stalledOr(second)).toBe(true)
    })
  })

  it('tries a job again that failed, by the count of the consumer, and returns its result', async () => {
    await onQueue(async (bench) => {
      const attempts: number[] = []
      const handle = ({ attempt }: HandlerContext<unknown>): string => {
        attempts.push(attempt)
        if (attempt < 3) throw new Error('502')
        return 'receipt-2'
      }
      const worker = bench.work(consumerOf(handle, memoryStore()), {})
      await bench.queue.add('send', {}, { jobId: 'sms-2' })
      expect(await worker.until('completed')).toBe('receipt-2')
      expect(attempts).toEqual([1, 2, 3])
    })
  })

  it('fails a job at once that is given up, whatever attempts BullMQ would make', async () => {
    await onQueue(async (bench) => {
      let runs = 0
      const handle = (): void => {
        runs++
        throw new TerminalError('no such number')
      }
      const worker = bench.work(consumerOf(handle, memoryStore()), {})
      await bench.queue.add('send', {}, { jobId: 'sms-3', attempts: 5 })
      expect(await worker.until('failed')).toMatch(/^handler-failed: /)
      expect(runs).toBe(1)
    })
  })
})

describe('bullmqProcessor', () => {
  const consumer = consumerOf(() => 'sent', memoryStore())

  it('makes a message of a job: its data as JSON, its ID as messageId', async () => {
    const seen: unknown[] = []
    const process = bullmqProcessor(consumerOf(({ message }) => void seen.push(message), memoryStore()))
    await process(jobOf({ data: { to: 1 } }))
    expect(seen).toMatchObject([
      {
        system: 'bullmq',
        destination: 'sms',
        position: '1',
        messageId: '1',
        value: Buffer.from('{"to":1}'),
        headers: { 'job-name': 'send' },
        timestamp: 5,
      },
    ])
    await process.stop()
  })

  it('delays a job that comes while it stops', async () => {
    const process = bullmqProcessor(consumer, { delayMs: 50 })
    await process.stop()
    const delays: (string | undefined)[] = []
    const job = jobOf({ moveToDelayed: async (_, token) => void delays.push(token) })
    await expect(process(job, 'token')).rejects.toMatchObject({ name: 'DelayedError' })
    expect(delays).toEqual(['token'])
  })

  it.each([
    [{ delay: 5 }, 'delay: unknown option'],
    [{ delayMs: 0 }, 'delayMs: expected a whole number'],
    [{ group: '' }, 'group: expected text'],
  ])('refuses the options %j', (options, problem) => {
    expect(() => bullmqProcessor(consumer, options as BullmqOptions)).toThrow(problem)
  })
})

function jobOf(differs: Partial<JobLike>): JobLike {
  return {
    id: '1',
    name: 'send',
    queueName: 'sms',
    data: null,
    timestamp: 5,
    moveToDelayed: async () => {},
    ...differs,
  }
}

function consumerOf(handle: (context: HandlerContext<unknown>) => unknown, store: Store): Consumer {
  return defineConsumer({
    name: 'sender',
    store,
    rememberResult: true,
    backoff: { initialMs: 10, maxMs: 10 },
    handle,
  })
}

class Bench {
  readonly queue: Queue
  readonly #url: string
  readonly #name = uniqueName('bullmq')
  readonly #Worker: Bullmq['Worker']
  readonly #closing: (() => Promise<unknown>)[] = []

  constructor(url: string, queueClass: Bullmq['Queue'], workerClass: Bullmq['Worker']) {
    this.#url = url
    this.#Worker = workerClass
    const queue = new queueClass(this.#name, { connection: this.#connection() })
    this.queue = queue
    this.#closing.push(async () => {
      await queue.obliterate({ force: true })
      await queue.close()
    })
  }

  store(): Store {
    const redis = new Redis(this.#url)
    this.#closing.push(() => redis.quit())
    return redisLease({ redis, prefix: this.#name })
  }

  work(consumer: Consumer, options: object): WatchedWorker {
    const processor = bullmqProcessor(consumer, { delayMs: 50 })
    const worker = new this.#Worker(this.#name, processor, { connection: this.#connection(), ...options })
    this.#closing.unshift(
      () => worker.close(true),
      () => processor.stop({ deadlineMs: 0 }),
    )
    return new WatchedWorker(worker)
  }

  async close(): Promise<void> {
    for (const close of this.#closing) await close()
  }

  #connection(): object {
    const { hostname: host, port } = new URL(this.#url)
    return { host, port: Number(port), maxRetriesPerRequest: null }
  }
}

type Told = 'active' | 'completed' | 'failed' | 'stalled'

/** Remembers events, so that one that came early is not missed. */
class WatchedWorker {
  readonly #told = new Map<Told, unknown>()
  readonly #waiting = new Map<Told, (value: unknown) => void>()

  constructor(worker: Worker) {
    worker.on('error', () => {})
    worker.on('active', () => this.#tell('active', undefined))
    worker.on('stalled', () => this.#tell('stalled', undefined))
    worker.on('completed', (_job: never, result: never) => this.#tell('completed', result))
    worker.on('failed', (_job: never, error: Error) => this.#tell('failed', error.message))
  }

  until(event: Told): Promise<unknown> {
    if (this.#told.has(event)) return Promise.resolve(this.#told.get(event))
    return new Promise((resolve) => void this.#waiting.set(event, resolve))
  }

  stalledOr(other: WatchedWorker): boolean {
    return this.#told.has('stalled') || other.#told.has('stalled')
  }

  #tell(event: Told, value: unknown): void {
    this.#told.set(event, value)
    this.#waiting.get(event)?.(value)
  }
}
