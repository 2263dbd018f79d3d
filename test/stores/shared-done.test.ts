import { beforeEach, describe, expect, it } from '@jest/globals'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { createClient } from 'redis'
import { withDoneCache } from 'consume-once/lru-cache'
import { postgresDoneChannel } from 'consume-once/pg'
import { redisDoneChannel } from 'consume-once/redis'
import { type Key, type Store } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import type { DoneChannel, DoneEars, MessageRecord } from '../../src/internal.ts'
import { claim, hold, newDigest, newItem, SCOPE } from '../../testing/contract/store/claims.ts'
import { backends } from '../kit/backends.ts'
import { eventually } from '../kit/eventually.ts'
import { startFaultProxy, type FaultProxy } from '../kit/fault-proxy.ts'
import { uniqueName } from '../kit/namespace.ts'
import { scriptedStore, type ScriptedStore } from '../kit/scripted-store.ts'
import { server } from '../kit/servers/server.ts'
import { closedAfterEach } from '../kit/after-each.ts'

const WHY = { by: 'test', reason: 'a test', retentionMs: 3_600_000 }

/** A process: a cache of its own, before a store that all share. */
interface Process {
  readonly store: Store
  /** Claims that its store was asked for since the last look. */
  readonly asked: () => number
}

function newProcess(records: Map<Key, MessageRecord>, share: DoneChannel): Process {
  const plain = memoryStore({ records })
  const behind: ScriptedStore<never> = Object.assign(scriptedStore(plain), { admin: plain.admin })
  let seen = 0
  return {
    store: withDoneCache(behind, { maxKeys: 1_000, share }),
    asked: () => {
      const before = seen
      seen = behind.calls('claim').reduce((sum, { keys }) => sum + keys.length, 0)
      return seen - before
    },
  }
}

const closing = closedAfterEach()

/** True if this process answers `done` for a new item of that kind without its store. */
async function mark(by: Process): Promise<ReturnType<typeof newItem>> {
  const item = newItem()
  const { claim: claimed } = await hold(by.store, item)
  await by.store.mark([claimed])
  return item
}

async function isKnown({ store, asked }: Process, item: ReturnType<typeof newItem>): Promise<boolean> {
  asked()
  const { verdict } = await claim(store, item)
  return verdict === 'done' && asked() === 0
}

/** Until what one process marks is known in the other. Returns the last item. */
async function untilShared(from: Process, to: Process): Promise<ReturnType<typeof newItem>> {
  let item = await mark(from)
  await eventually(async () => {
    item = await mark(from)
    await new Promise((resolve) => void setTimeout(resolve, 20))
    return isKnown(to, item)
  })
  return item
}

type Open = (url: string, channel: string) => Promise<DoneChannel>

async function onIoredis(url: string, channel: string): Promise<DoneChannel> {
  const redis = new Redis(url, { retryStrategy: () => 20 })
  const subscriber = redis.duplicate()
  for (const client of [redis, subscriber]) {
    client.on('error', () => {})
    closing.push(() => client.disconnect())
  }
  return redisDoneChannel({ redis, subscriber, channel })
}

async function onNodeRedis(url: string, channel: string): Promise<DoneChannel> {
  const redis = createClient({ url, socket: { reconnectStrategy: () => 20 } })
  const subscriber = redis.duplicate()
  for (const client of [redis, subscriber]) {
    await client.on('error', () => {}).connect()
    closing.push(() => client.destroy())
  }
  return redisDoneChannel({ redis, subscriber, channel })
}

async function onPostgres(url: string, channel: string): Promise<DoneChannel> {
  const pool = new Pool({ connectionString: url, max: 2 })
  pool.on('error', () => {})
  const shared = postgresDoneChannel({ pool, channel })
  closing.push(async () => {
    await shared.close()
    await pool.end()
  })
  return shared
}

const WAYS: readonly (readonly [string, 'redis' | 'postgres', Open])[] = [
  ['Redis, by ioredis', 'redis', onIoredis],
  ['Redis, by node-redis', 'redis', onNodeRedis],
  ['Postgres', 'postgres', onPostgres],
]

describe.each(WAYS.filter(([, backend]) => backends.has(backend)))(
  'caches of two processes that share by %s',
  (_, backend, open) => {
    let proxy: FaultProxy
    let one: Process
    let other: Process
    let plain: Store

    beforeEach(async () => {
      const { url } = await server(backend)
      const real = new URL(url)
      proxy = await startFaultProxy(Number(real.port))
      closing.push(() => proxy.stop())
      const proxied = new URL(url)
      proxied.hostname = '127.0.0.1'
      proxied.port = String(proxy.port)
      const channel = uniqueName('done').replaceAll('-', '_').toLowerCase()
      const records = new Map<Key, MessageRecord>()
      plain = memoryStore({ records })
      one = newProcess(records, await open(url, channel))
      other = newProcess(records, await open(proxied.href, channel))
      await Promise.all([one.store.open(), other.store.open()])
    })

    it('know what either has marked, without the store', async () => {
      const [first, second] = [await untilShared(one, other), await untilShared(other, one)]
      expect([await isKnown(one, first), await isKnown(other, second)]).toEqual([true, true])
    })

    it('answer nothing but done: a known ID with another payload goes to the store', async () => {
      const { key } = await untilShared(one, other)
      expect(await claim(other.store, { key, digest: newDigest() })).toMatchObject({ verdict: 'conflict' })
    })

    it('hear that a person has forgotten a message', async () => {
      const { key, digest } = await untilShared(one, other)
      await one.store.admin?.forget(SCOPE, [key], WHY)
      await eventually(async () => !(await isKnown(other, { key, digest })))
      expect(await plain.admin?.peek(SCOPE, [key])).toMatchObject([{ state: 'processing' }])
    })

    it('forget all while the connection is lost, and when it is back', async () => {
      const item = await untilShared(one, other)
      proxy.refuse()
      proxy.cut()
      await eventually(async () => !(await isKnown(other, item)))
      // The store still answers.
      expect(await claim(other.store, item)).toMatchObject({ verdict: 'done' })
      // A decision in the gap, which the other cannot hear.
      await one.store.admin?.forget(SCOPE, [item.key], WHY)
      proxy.accept()
      await untilShared(one, other)
      expect(await claim(other.store, item)).toMatchObject({ verdict: 'claimed' })
      expect(await plain.admin?.peek(SCOPE, [item.key])).toMatchObject([{ state: 'processing' }])
    })
  },
)

/** A channel in the hands of the test. */
class HandChannel implements DoneChannel {
  readonly sent: string[] = []
  ears: DoneEars | undefined
  fails = false

  async publish(text: string): Promise<void> {
    if (this.fails) throw new Error('no server')
    this.sent.push(text)
  }

  subscribe(ears: DoneEars): void {
    this.ears = ears
  }
}

describe('a shared cache', () => {
  let channel: HandChannel
  let process: Process
  beforeEach(async () => {
    channel = new HandChannel()
    process = newProcess(new Map(), channel)
    await process.store.open()
  })

  it('answers nothing before its channel is open', async () => {
    const item = await mark(process)
    expect(await isKnown(process, item)).toBe(false)
    channel.ears?.onOpen()
    expect(await isKnown(process, item)).toBe(false)
    expect(await isKnown(process, item)).toBe(true)
  })

  it('hears nothing about a message after a decision, from a process that had marked it before', async () => {
    channel.ears?.onOpen()
    const item = newItem()
    channel.ears?.onText(JSON.stringify({ by: 'another', forgot: [item.key] }))
    channel.ears?.onText(JSON.stringify({ by: 'another', done: [[item.key, item.digest, 60_000, null]] }))
    expect(await claim(process.store, item)).toMatchObject({ verdict: 'claimed' })
  })

  it('takes no notice of what it cannot read', async () => {
    channel.ears?.onOpen()
    const { key } = newItem()
    for (const text of ['', '{', 'null', '7', '{"done":7}', '{"done":[7,[],[1,2,3,4]]}', '{"forgot":[7,null]}']) {
      channel.ears?.onText(text)
    }
    channel.ears?.onText(JSON.stringify({ done: [[key, 'digest']] }))
    expect(await claim(process.store, { key, digest: 'digest' })).toMatchObject({ verdict: 'claimed' })
  })

  it('marks and decides all the same while nothing can be published', async () => {
    channel.ears?.onOpen()
    channel.fails = true
    const item = await mark(process)
    expect(await process.store.admin?.forget(SCOPE, [item.key], WHY)).toEqual(['decided'])
    expect(await claim(process.store, item)).toMatchObject({ verdict: 'claimed' })
  })

  it('sends texts of less than 7,500 bytes, one call for many marks', async () => {
    channel.ears?.onOpen()
    const { store } = process
    const items = Array.from({ length: 500 }, () => newItem())
    const answers = await store.claim({
      scope: SCOPE,
      token: 't',
      leaseMs: 1_000,
      retentionMs: 604_800_000,
      alone: false,
      items,
    })
    await store.mark(answers.flatMap((answer) => ('claim' in answer ? [answer.claim] : [])))
    await store.admin?.forget(
      SCOPE,
      items.map(({ key }) => key),
      WHY,
    )
    expect(channel.sent).toHaveLength(8 + 2)
    expect(Math.max(...channel.sent.map((text) => Buffer.byteLength(text)))).toBeLessThan(7_500)
  })

  it('shares no result that is kept with a mark', async () => {
    channel.ears?.onOpen()
    const { claim: claimed } = await hold(process.store, newItem())
    await process.store.mark([claimed], ['vsecret'])
    expect(channel.sent).toEqual([])
  })

  it('needs a channel', () => {
    expect(() => withDoneCache(memoryStore(), { maxKeys: 1, share: {} as DoneChannel })).toThrow(
      /share: expected a channel/,
    )
    const redis = new Redis({ lazyConnect: true })
    expect(() => redisDoneChannel({ redis, subscriber: redis })).toThrow(/subscriber: expected another client/)
    redis.disconnect()
    expect(() => postgresDoneChannel({ pool: new Pool(), channel: 'A"B' })).toThrow(/channel: expected 1 to 63/)
  })
})
