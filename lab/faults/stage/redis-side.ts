import { once } from 'node:events'
import { Redis } from 'ioredis'
import { KeyNames } from '../../../adapters/redis/records/key-names.ts'
import { CLAIM } from '../../../adapters/redis/scripts/claim.ts'
import { MARK } from '../../../adapters/redis/scripts/mark.ts'
import { Signal } from '../../../test/kit/signal.ts'
import { trueMs } from '../../kit/true-time.ts'
import { trueTimeOf } from './wall-clock.ts'
import type { Spoilt } from '../fault.ts'

/** A record as a script wrote it, with its true time. */
export interface Written {
  readonly at: number
  readonly name: string
  readonly value: string
  /** Time to live; `undefined`: unchanged, or unlimited. */
  readonly keptMs: number | undefined
}

/** A Redis whose MONITOR reports every write of its scripts, in order. */
export class RedisSide extends Signal implements AsyncDisposable {
  #listener: Connections
  readonly #written: Written[] = []
  readonly #heard = new Set<string>()

  private constructor(listener: Connections) {
    super()
    this.#listener = listener
    this.#listen()
  }

  static async open(url: string): Promise<RedisSide> {
    return new RedisSide(await connectTo(url))
  }

  get url(): string {
    return this.#listener.url
  }

  /** Moves to another server. The records that it holds count as written now. */
  async moveTo(url: string): Promise<void> {
    close(this.#listener)
    this.#listener = await connectTo(url)
    this.#listen()
    const { redis } = this.#listener
    for (const name of await redis.keys('*')) {
      const [value, keptMs] = await Promise.all([redis.get(name), redis.pttl(name)])
      if (value !== null) this.#written.push({ at: trueMs(), name, value, keptMs })
    }
  }

  async flush(): Promise<void> {
    await this.#listener.redis.flushall()
  }

  /** All writes under a prefix up to now. */
  async writtenUnder(prefix: string): Promise<readonly Written[]> {
    const mark = `${prefix} ${this.#written.length}`
    await this.#listener.redis.echo(mark)
    await this.until(() => this.#heard.delete(mark))
    return this.#written.filter(({ name }) => name.startsWith(`${prefix}:`))
  }

  /** `undefined`: no record that a store could read. */
  async record(prefix: string, key: string): Promise<string | undefined> {
    const { redis } = this.#listener
    const name = nameOf(prefix, key)
    return (await redis.type(name)) === 'string' ? ((await redis.get(name)) ?? undefined) : undefined
  }

  /** Replaces a record by one that no store can read. */
  async spoil(prefix: string, key: string, how: Spoilt): Promise<void> {
    const { redis } = this.#listener
    const name = nameOf(prefix, key)
    if (how === 'other-type') await redis.hset(name, 'state', 'P')
    else await redis.set(name, how === 'cut-off' ? 'P|1|1|0|' : 'Z|1|1|0||owner|')
  }

  #listen(): void {
    const { monitor } = this.#listener
    monitor.on('monitor', (seconds: string, parts: readonly string[], source: string) => {
      const [command = '', name = '', value = '', word, ms] = parts
      const at = trueTimeOf(Number(seconds) * 1_000)
      if (/^set$/i.test(command) && source === 'lua')
        this.#written.push({ at, name, value, keptMs: word === 'PX' ? Number(ms) : undefined })
      if (/^echo$/i.test(command)) {
        this.#heard.add(name)
        this.notify()
      }
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { monitor } = this.#listener
    const ended = monitor.status === 'end' ? undefined : once(monitor, 'end')
    close(this.#listener)
    await ended
  }
}

function nameOf(prefix: string, key: string): string {
  return new KeyNames(prefix, 16).of(key)
}

interface Connections {
  readonly url: string
  readonly redis: Redis
  readonly monitor: Redis
}

async function connectTo(url: string): Promise<Connections> {
  const redis = new Redis(url)
  redis.on('error', () => {})
  // Workers then call the scripts by digest from the first time on.
  for (const { lua } of [CLAIM, MARK]) await redis.script('LOAD', lua)
  const monitor = await redis.monitor()
  monitor.on('error', () => {})
  return { url, redis, monitor }
}

function close({ redis, monitor }: Connections): void {
  monitor.disconnect()
  redis.disconnect()
}
