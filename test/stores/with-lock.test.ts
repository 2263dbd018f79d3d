import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Redis } from 'ioredis'
import { mysqlLease } from '../../adapters/mysql2/index.ts'
import { postgresLease } from '../../adapters/pg/index.ts'
import { redisLease } from '../../adapters/redis/index.ts'
import { withLock } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import type { LeaseStore } from '../../src/internal.ts'
import { backends } from '../kit/backends.ts'
import { aborted, gate } from '../kit/rig.ts'
import { server, SERVER_WITHIN_MS } from '../kit/servers/server.ts'
import { newMysqlPlace } from '../mysql/support.ts'
import { newPlace } from '../pg/support.ts'
import { redisHarness } from '../redis/harness.ts'

interface Opened {
  /** A store as another process would have it. */
  readonly newStore: () => LeaseStore
  readonly close: () => Promise<unknown>
}

const STORES = {
  'redis lease': async (): Promise<Opened> => {
    const { url } = await server('redis')
    const { prefix, close } = await redisHarness(url)
    const clients: Redis[] = []
    const newStore = (): LeaseStore => {
      const redis = new Redis(url)
      clients.push(redis)
      return redisLease({ redis, prefix })
    }
    return {
      newStore,
      close: async () => {
        for (const client of clients) client.disconnect()
        await close()
      },
    }
  },
  'postgres lease': async (): Promise<Opened> => {
    const place = await newPlace()
    return { newStore: () => postgresLease({ pool: place.newPool(), schema: place.schema }), close: place.close }
  },
  'mariadb lease': async (): Promise<Opened> => {
    const place = await newMysqlPlace()
    return { newStore: () => mysqlLease({ pool: place.newPool() }), close: place.close }
  },
}

const wanted = Object.entries(STORES).filter(([name]) => [...backends].some((backend) => name.startsWith(backend)))

describe.each(wanted)('withLock on a real store: %s', (_name, open) => {
  let opened: Opened
  beforeAll(async () => {
    opened = await open()
  }, SERVER_WITHIN_MS)
  afterAll(() => opened.close())

  it('has one holder at a time, and a fence that grows over holders [T284]', async () => {
    const stores = [opened.newStore(), opened.newStore()]
    const fences: number[] = []
    let holders = 0
    const hold = (at: number) =>
      withLock(
        stores[at % 2] as LeaseStore,
        'a',
        async ({ fence }) => {
          holders++
          fences.push(fence)
          await new Promise((resolve) => void setImmediate(resolve))
          expect(holders--).toBe(1)
        },
        { waitMs: 20_000 },
      )
    const ends = await Promise.all(Array.from({ length: 6 }, (_, at) => hold(at)))
    expect(ends.map(({ verdict }) => verdict)).toEqual(ends.map(() => 'ran'))
    expect(fences).toEqual(fences.map((_, at) => at + 1))
  })

  it('is busy while another holds it, and free after an error of its holder', async () => {
    const [first, second] = [opened.newStore(), opened.newStore()]
    const [began, end] = [gate(), gate()]
    const held = withLock(first, 'b', async () => {
      began.open()
      await end.opened
      throw new Error('failed')
    })
    const failed = held.catch((error: Error) => error.message)
    await began.opened
    expect(await withLock(second, 'b', () => 'never', { waitMs: 0 })).toEqual({ verdict: 'busy' })
    end.open()
    expect(await failed).toBe('failed')
    expect(await withLock(second, 'b', () => 'next', { waitMs: 0 })).toEqual({
      verdict: 'ran',
      result: 'next',
      fence: 2,
    })
  })

  it('aborts before its lease ends when it cannot renew, and is lost when another has taken it over [T285]', async () => {
    const [first, second] = [opened.newStore(), opened.newStore()]
    const [began, taken] = [gate(), gate<number>()]
    const cutOff = new Proxy(first, {
      get: (store, name) => {
        if (name === 'renew') return () => Promise.reject(new Error('cut off'))
        const value: unknown = Reflect.get(store, name)
        return typeof value === 'function' ? value.bind(store) : value
      },
    })
    const old = withLock(
      cutOff,
      'c',
      async ({ fence, signal }) => {
        began.open()
        await aborted(signal)
        expect(signal.reason).toMatchObject({ code: 'LEASE_LOST' })
        const newer = await taken.opened
        expect(newer).toBeGreaterThan(fence)
      },
      { leaseMs: 1_000 },
    )
    await began.opened
    const released = withLock(
      second,
      'c',
      async ({ fence }) => {
        taken.open(fence)
        return old
      },
      { waitMs: 20_000 },
    )
    expect(await old).toMatchObject({ verdict: 'lost', fence: 1 })
    expect(await released).toMatchObject({ verdict: 'ran', fence: 2 })
  })
})

it('ends its wait with the signal of its caller', async () => {
  const store = memoryStore()
  const [end, caller] = [gate(), new AbortController()]
  const held = withLock(store, 'd', () => end.opened)
  const waiting = withLock(store, 'd', () => {}, { signal: caller.signal })
  caller.abort(new Error('gone'))
  await expect(waiting).rejects.toThrow('gone')
  end.open()
  expect(await held).toMatchObject({ verdict: 'ran', fence: 1 })
})

it('refuses what cannot be meant', async () => {
  const wrong = withLock({ strategy: 'inbox' } as never, '', 1 as never, { leaseMs: 10, waitMs: -1, ttl: 1 } as never)
  await expect(wrong).rejects.toMatchObject({ code: 'CONFIG_INVALID', problems: { length: 6 } })
})
