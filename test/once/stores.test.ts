import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Redis } from 'ioredis'
import { mysqlInbox, mysqlLease } from '../../adapters/mysql2/index.ts'
import { postgresInbox, postgresLease } from '../../adapters/pg/index.ts'
import { redisLease } from '../../adapters/redis/index.ts'
import { once, OutcomeUnknownError, tokens, type OnceError, type OnceOptions } from '../../src/index.ts'
import type { InboxStore, LeaseStore } from '../../src/internal.ts'
import { backends } from '../kit/backends.ts'
import { untilAnswered } from '../kit/eventually.ts'
import { gate } from '../kit/rig.ts'
import { server, SERVER_WITHIN_MS } from '../kit/servers/server.ts'
import { newMysqlPlace } from '../mysql/support.ts'
import { newPlace } from '../pg/support.ts'
import { redisHarness } from '../redis/harness.ts'

/** What the functions of these tests use of a transaction. */
interface Tx {
  query(sql: string, values: readonly string[]): Promise<unknown>
}

type AnyStore = LeaseStore | InboxStore<Tx>

interface Opened {
  /** A store as another process would have it. Databases: on a pool of at most `connections`. */
  readonly newStore: (connections?: number) => AnyStore
  /** Committed effects of a name; leases have no table. */
  readonly committed?: (effect: string) => Promise<number>
  readonly insert?: string
  readonly close: () => Promise<unknown>
}

const STORES = {
  'redis lease': async (): Promise<Opened> => {
    const { url } = await server('redis')
    const harness = await redisHarness(url)
    const clients: Redis[] = []
    const newStore = (): AnyStore => {
      const redis = new Redis(url)
      clients.push(redis)
      return redisLease({ redis, prefix: harness.prefix })
    }
    const close = async (): Promise<void> => {
      for (const client of clients) client.disconnect()
      await harness.close()
    }
    return { newStore, close }
  },
  'postgres lease': async (): Promise<Opened> => {
    const place = await newPlace()
    const { schema } = place
    return {
      newStore: (max = 5) => postgresLease({ pool: place.newPool({ max }), schema }),
      close: () => place.close(),
    }
  },
  'postgres inbox': async (): Promise<Opened> => {
    const place = await newPlace()
    const { schema, committed } = place
    const newStore = (max = 5): AnyStore => postgresInbox({ pool: place.newPool({ max }), schema })
    return {
      newStore,
      committed,
      insert: `insert into ${schema}.effect (name) values ($1)`,
      close: () => place.close(),
    }
  },
  'mariadb lease': async (): Promise<Opened> => {
    const place = await newMysqlPlace()
    return {
      newStore: (connectionLimit = 5) => mysqlLease({ pool: place.newPool({ connectionLimit }) }),
      close: () => place.close(),
    }
  },
  'mariadb inbox': async (): Promise<Opened> => {
    const place = await newMysqlPlace()
    const newStore = (connectionLimit = 5): AnyStore => mysqlInbox({ pool: place.newPool({ connectionLimit }) })
    return {
      newStore,
      committed: place.committed,
      insert: 'insert into effect (name) values (?)',
      close: () => place.close(),
    }
  },
}

type BusyCase = readonly [options: OnceOptions<never>, connections: number]

const WAITS: readonly BusyCase[] = [
  [{ waitMs: 50 }, 5],
  [{ waitMs: 300 }, 5],
  [{ waitMs: 600 }, 2],
  [{ waitMs: 1_000 }, 5],
  [{ waitMs: 2_500 }, 5],
]
const REFUSALS: readonly BusyCase[] = [
  [{ whenBusy: 'refuse' }, 5],
  [{ whenBusy: 'refuse', waitMs: 300 }, 5],
]

const wanted = Object.entries(STORES).filter(([name]) => [...backends].some((backend) => name.startsWith(backend)))

describe.each(wanted)('once on a real store: %s', (_name, open) => {
  let opened: Opened
  let runs = 0
  beforeAll(async () => {
    opened = await open()
  }, SERVER_WITHIN_MS)
  afterAll(() => opened.close())

  const OPTIONS: OnceOptions<never> = { purge: 'never', waitMs: 20_000 }

  /** Counts its runs, and writes its effect where there is a transaction. */
  const work = async (key: string, context: { readonly tx?: Tx }): Promise<string> => {
    runs++
    if (opened.insert !== undefined) await context.tx?.query(opened.insert, [key])
    return `done ${key}`
  }

  it('has the effect once for concurrent calls of two processes, and replays the result [T275]', async () => {
    const stores = [opened.newStore(), opened.newStore()]
    runs = 0
    const call = (at: number) =>
      once(stores[at % 2] as InboxStore<Tx>, 'many', (context) => work('many', context), OPTIONS)
    const answers = await Promise.all(Array.from({ length: 40 }, (_, at) => call(at)))
    answers.push(await call(0))
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1)
    expect(new Set(answers.map(({ result }) => result))).toEqual(new Set(['done many']))
    expect(runs).toBe(1)
    expect(await (opened.committed?.('many') ?? runs)).toBe(1)
  })

  it('frees the key of a failure, remembers one by choice, and refuses another payload', async () => {
    const store = opened.newStore() as InboxStore<Tx>
    const failing = async (context: { readonly tx: Tx }): Promise<never> => {
      await work('fails', context)
      throw Object.assign(new Error('declined'), { code: 'DECLINED' })
    }
    const options = { ...OPTIONS, payload: 'a' }
    await expect(once(store, 'fails', failing, options)).rejects.toThrow('declined')
    await expect(once(store, 'fails', failing, { ...options, rememberFailure: () => true })).rejects.toThrow('declined')
    await expect(once(store, 'fails', failing, options)).rejects.toMatchObject({ code: 'DECLINED' })
    await expect(once(store, 'fails', failing, { ...options, payload: 'b' })).rejects.toMatchObject({
      code: 'ONCE_CONFLICT',
    })
    expect(await (opened.committed?.('fails') ?? 0)).toBe(0)
  })

  it('lets one of fifty concurrent calls of two processes redeem a token [T280]', async () => {
    const secrets = ['a secret of 16 b']
    const [one, other] = [tokens(opened.newStore(), { secrets }), tokens(opened.newStore(), { secrets })]
    const token = one.issue('user-1', { ttlMs: 60_000 })
    const calls = Array.from({ length: 50 }, (_, at) => (at % 2 === 0 ? one : other).redeem(token, 'user-1'))
    const verdicts = await Promise.all(calls)
    expect(verdicts.filter((verdict) => verdict === 'redeemed')).toHaveLength(1)
    expect(verdicts.filter((verdict) => verdict === 'used')).toHaveLength(49)
  })

  it('keeps undefined, null and empty results', async () => {
    const store = opened.newStore() as InboxStore<Tx>
    for (const [at, value] of [undefined, null, '', [], {}].entries()) {
      for (const replayed of [false, true]) {
        expect(await once<unknown, Tx>(store, `value-${at}`, () => value, OPTIONS)).toEqual({ result: value, replayed })
      }
    }
  })

  it.each([
    ['lets it wait', WAITS],
    ['does not let it wait', REFUSALS],
  ])('is busy with a key of another process, and %s', async (_how, cases) => {
    const isBusy = async ([options, connections]: (typeof cases)[number]): Promise<void> => {
      const [one, other] = [opened.newStore(), opened.newStore(connections)] as [InboxStore<Tx>, InboxStore<Tx>]
      await once(other, 'opened', () => 1, OPTIONS)
      const [started, passed] = [gate(), gate()]
      const key = `held ${JSON.stringify([options, connections])}`
      const first = once(
        one,
        key,
        async () => {
          started.open()
          await passed.opened
        },
        OPTIONS,
      )
      await started.opened
      // Whoever waits 50 ms may hear of a busy machine that the store has not answered by then.
      const call = untilAnswered(() => once(other, key, () => 'again', { ...OPTIONS, ...options }))
      const code = await call.then(
        () => undefined,
        (error: OnceError) => error.code,
      )
      passed.open()
      expect({ key, code }).toEqual({ key, code: 'ONCE_BUSY' })
      expect((await first).replayed).toBe(false)
      expect((await once(other, key, () => 'again', OPTIONS)).replayed).toBe(true)
    }
    await Promise.all(cases.map(isBusy))
  })

  it('decides about what is in doubt, or rolls it back [T277]', async () => {
    const store = opened.newStore() as InboxStore<Tx>
    const unknown = async (context: { readonly tx: Tx }): Promise<string> => {
      await work('doubt', context)
      throw new OutcomeUnknownError('no answer')
    }
    await expect(once(store, 'doubt', unknown, OPTIONS)).rejects.toThrow('no answer')
    const isLease = opened.committed === undefined
    const options: OnceOptions<never> = isLease ? { ...OPTIONS, onInDoubt: 'park' } : OPTIONS
    const next = once(store, 'doubt', (context) => work('doubt', context), options)
    const answer = await next.catch(({ code }: OnceError) => code)
    expect(answer).toEqual(isLease ? 'ONCE_SET_ASIDE' : { result: 'done doubt', replayed: false })
    expect(await (opened.committed?.('doubt') ?? 1)).toBe(1)
  })
})
