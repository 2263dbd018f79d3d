import { beforeEach, describe, expect, it } from '@jest/globals'
import { removeKeys } from '../kit/servers/clients.ts'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { redisLease } from 'consume-once/redis'
import {
  defineConsumer,
  doctor,
  messageId,
  OutcomeUnknownError,
  runInline,
  TerminalError,
  type ConsumerSettings,
  type InlineRunning,
  type Settlement,
  type Store,
} from '../../src/index.ts'
import type { ClaimAnswer } from '../../src/internal.ts'
import { memoryMessage } from './memory-message.ts'
import { backends } from '../kit/backends.ts'
import { uniqueName } from '../kit/namespace.ts'
import { server } from '../kit/servers/server.ts'
import { newItem, SCOPE } from '../../testing/contract/store/claims.ts'
import { closedAfterEach } from '../kit/after-each.ts'

const describeOnRedis = backends.has('redis') ? describe : describe.skip

const LIBRARIES = ['ioredis', 'node-redis'] as const
const RETENTION_MS = 3_600_000

let url: string
let prefix: string
let redis: Redis
const closing = closedAfterEach()

beforeEach(async () => {
  url = (await server('redis')).url
  prefix = uniqueName('setnx')
  redis = new Redis(url)
  closing.push(async () => {
    await removeKeys(redis, prefix)
    redis.disconnect()
  })
})

async function openStore(library: (typeof LIBRARIES)[number] = 'ioredis'): Promise<Store> {
  const options = { marks: 'before-handler', prefix } as const
  if (library === 'ioredis') {
    const client = new Redis(url)
    closing.push(() => client.disconnect())
    return redisLease({ redis: client, ...options })
  }
  const client = createClient({ url })
  await client.connect()
  closing.push(() => client.destroy())
  return redisLease({ redis: client, ...options })
}

interface Desk {
  readonly runs: string[]
  readonly running: InlineRunning
  handle(id: string, payload?: string): Promise<Settlement>
}

type Settings = Partial<Pick<ConsumerSettings<unknown, unknown, never>, 'maxAttempts' | 'onInDoubt' | 'backoff'>>

/** A process. Its handler does what it is given, after it is counted. */
async function start(store: Store, effect: (id: string) => unknown = () => {}, settings: Settings = {}): Promise<Desk> {
  const runs: string[] = []
  const consumer = defineConsumer({
    name: 'setnx',
    store,
    id: messageId.header('id'),
    retentionMs: RETENTION_MS,
    graceMs: 100,
    backoff: { initialMs: 1, maxMs: 2 },
    ...settings,
    handle: ({ message }) => {
      const id = String(message.headers['id'])
      runs.push(id)
      return effect(id)
    },
  })
  const running = runInline(consumer, { group: prefix })
  closing.push(() => running.stop({ deadlineMs: 0 }))
  await running.open()
  return { runs, running, handle: (id, payload = '1') => running.handle(memoryMessage(id, payload)) }
}

describeOnRedis.each(LIBRARIES)('redisLease that marks before the handler, by %s', (library) => {
  it('handles a message once, and settles each other delivery as a duplicate, in every process', async () => {
    const [one, other] = [await start(await openStore(library)), await start(await openStore(library))]
    expect(await one.handle('a')).toMatchObject({ outcome: 'handled', settle: 'ack' })
    expect(await one.handle('a')).toMatchObject({ outcome: 'duplicate', settle: 'ack' })
    expect(await other.handle('a')).toMatchObject({ outcome: 'duplicate', settle: 'ack' })
    expect(await other.handle('a', '2')).toMatchObject({ settle: 'dead-letter', reason: 'conflict' })
    expect([...one.runs, ...other.runs]).toEqual(['a'])
  })

  it('writes the mark before the handler, for as long as the retention', async () => {
    const found: [string | null, number][] = []
    const desk = await start(await openStore(library), async () => {
      for await (const keys of redis.scanStream({ match: `${prefix}:{*`, count: 1000 })) {
        for (const key of keys as string[]) {
          if (!key.endsWith('-open')) found.push([await redis.get(key), await redis.pttl(key)])
        }
      }
    })
    await desk.handle('a')
    expect(found).toHaveLength(1)
    expect(found[0]?.[0]).toMatch(/^D\|1\|1\|0\|/)
    expect(found[0]?.[1]).toBeGreaterThan(RETENTION_MS - 60_000)
  })

  it('lets nobody run a message whose first run has not ended: it is a duplicate at once [T252]', async () => {
    const [one, other] = [
      await start(await openStore(library), () => new Promise(() => {})),
      await start(await openStore(library)),
    ]
    void one.handle('a')
    await untilRunning(one)
    expect(await other.handle('a')).toMatchObject({ outcome: 'duplicate' })
    expect(other.runs).toEqual([])
  })

  it('runs a message again whose handler threw, and gives it up after its attempts', async () => {
    const desk = await start(
      await openStore(library),
      () => {
        throw new Error('no')
      },
      { maxAttempts: 3 },
    )
    expect(await desk.handle('a')).toMatchObject({ settle: 'dead-letter', reason: 'attempts-spent' })
    expect(desk.runs).toEqual(['a', 'a', 'a'])
    const next = await start(await openStore(library))
    expect(await next.handle('a')).toMatchObject({ settle: 'dead-letter', reason: 'attempts-spent' })
    expect(next.runs).toEqual([])
  })

  it('answers a claim that is sent again as it did the first time', async () => {
    const store = await openStore(library)
    const item = newItem()
    const request = {
      scope: SCOPE,
      token: uniqueName('token'),
      leaseMs: 1_000,
      retentionMs: RETENTION_MS,
      alone: false,
    }
    const ask = async (token = request.token): Promise<ClaimAnswer<unknown> | undefined> =>
      (await store.claim({ ...request, token, items: [item] }))[0]
    expect(await ask()).toMatchObject({ verdict: 'claimed', attempt: 1 })
    expect(await ask()).toMatchObject({ verdict: 'claimed', attempt: 1 })
    expect(await ask('another')).toMatchObject({ verdict: 'done' })
  })
})

describeOnRedis('redisLease that marks before the handler', () => {
  it('never repeats a run of which nobody knows how it ended: its message is lost [T251]', async () => {
    const desk = await start(await openStore(), unknown)
    expect(await desk.handle('a')).toMatchObject({ outcome: 'duplicate', settle: 'ack' })
    expect(desk.runs).toEqual(['a'])
  })

  it('parks such a message where onInDoubt says so', async () => {
    const desk = await start(await openStore(), unknown, { onInDoubt: 'park' })
    expect(await desk.handle('a')).toMatchObject({ settle: 'dead-letter', reason: 'in-doubt' })
    expect(desk.runs).toEqual(['a'])
  })

  it('repeats the effect of a handler that threw after it [T253]', async () => {
    const effects: string[] = []
    const desk = await start(await openStore(), (id) => {
      effects.push(id)
      if (effects.length === 1) throw new Error('thrown after the effect')
    })
    expect(await desk.handle('a')).toMatchObject({ outcome: 'handled' })
    expect(effects).toEqual(['a', 'a'])
  })

  it('runs a message again of which Redis has lost the mark [T254]', async () => {
    const desk = await start(await openStore())
    await desk.handle('a')
    await removeKeys(redis, `${prefix}:{`)
    await desk.handle('a')
    expect(desk.runs).toEqual(['a', 'a'])
  })

  it('gives up at once what TerminalError says, and people look at it as at any record', async () => {
    const store = await openStore()
    const desk = await start(store, () => {
      throw new TerminalError('no such card')
    })
    expect(await desk.handle('a')).toMatchObject({ settle: 'dead-letter', reason: 'handler-failed' })
    const listed = await store.admin?.list(`${prefix}/setnx`, { state: 'given-up', limit: 10 })
    expect(listed?.records).toHaveLength(1)
  })

  it('shares its records with redisLease that marks after it', async () => {
    const desk = await start(await openStore())
    await desk.handle('a')
    const client = new Redis(url)
    closing.push(() => client.disconnect())
    const leased = await start(redisLease({ redis: client, prefix }))
    expect(await leased.handle('a')).toMatchObject({ outcome: 'duplicate' })
    await leased.handle('b')
    expect(await desk.handle('b')).toMatchObject({ outcome: 'duplicate' })
  })

  it('is called at most once by doctor', async () => {
    const store = await openStore()
    const { guarantee } = await doctor(defineConsumer({ name: 'c', store, handle: () => {} }))
    expect(guarantee).toMatch(/^c \(lease\): at most once\. The mark is written before the handler/)
    expect(guarantee).not.toContain('no message is lost')
  })

  it('is refused with what a mark before the effect cannot keep, and under another name', async () => {
    const client = new Redis(url)
    closing.push(() => client.disconnect())
    const marks = 'first' as 'before-handler'
    expect(() => redisLease({ redis: client, marks })).toThrow(
      /marks: expected "after-handler" or "before-handler", got "first"/,
    )
    const store = redisLease({ redis: client, marks: 'before-handler', prefix })
    expect(() => defineConsumer({ name: 'c', store, handle: () => 1, rememberResult: true })).toThrow(
      /rememberResult: leave it out with a store that marks before the handler/,
    )
  })
})

function unknown(): never {
  throw new OutcomeUnknownError('no answer')
}

async function untilRunning(desk: Desk): Promise<void> {
  while (desk.runs.length === 0) await new Promise((resolve) => void setImmediate(resolve))
}
