import { afterEach, beforeEach, expect, it } from '@jest/globals'
import type { Pool } from 'pg'
import {
  postgresInbox,
  postgresLease,
  postgresMigrations,
  postgresOffsets,
  type PgTransaction,
} from '../../adapters/pg/index.ts'
import type { Store } from '../../src/index.ts'
import type { ClaimItem } from '../../src/internal.ts'
import { claim, claimAll, newItem, SCOPE } from '../../testing/contract/store/claims.ts'
import { startPrivatePgbouncer, type PrivatePgbouncerOptions } from '../../test/kit/servers/private-pgbouncer.ts'
import { server } from '../../test/kit/servers/server.ts'
import { ALONE, codeOf, describePostgres, lend, newPlace, REFUND, type PgPlace } from '../../test/pg/support.ts'

// `queryTimeoutMs` finds stalls, not the time limit of the test, which a busy machine may need.

/** More than the slots of a store: some always wait. */
const AT_ONCE = 8

describePostgres('stores on Postgres behind pgbouncer', () => {
  let place: PgPlace
  let pooler: Awaited<ReturnType<typeof startPrivatePgbouncer>> | undefined
  beforeEach(async () => {
    place = await newPlace()
  }, 60_000)
  afterEach(async () => {
    await place.close()
    await pooler?.stop()
    pooler = undefined
  })

  /** Two pools of two processes, as it were. */
  const behind = async (options: PrivatePgbouncerOptions): Promise<readonly [Pool, Pool]> => {
    pooler = await startPrivatePgbouncer((await server('postgres')).url, options)
    const pools = [1, 2].map(() => place.newPool({ connectionString: pooler?.url, max: 6 })) as [Pool, Pool]
    for (const pool of pools) pool.on('error', () => {})
    return pools
  }

  /** Each message in a transaction of its own, its effect with its mark. Whatever is not known is asked again. */
  const handled = async (stores: readonly Store<PgTransaction>[], messages: number): Promise<unknown> => {
    const items = Array.from({ length: messages }, () => newItem())
    await Promise.all(
      stores.map((store, at) =>
        allOf(
          items.filter((_, n) => n % stores.length === at),
          (item) => handle(store, item),
        ),
      ),
    )
    const { rows } = await place.pool.query(
      `select count(*)::int as effects, count(distinct name)::int as names from ${place.schema}.effect`,
    )
    return rows[0]
  }
  const handle = async (store: Store<PgTransaction>, item: ClaimItem): Promise<void> => {
    const granted = await claim(store, item, ALONE)
    if (!('claim' in granted)) throw new Error(`expected a claim that is granted, got ${granted.verdict}`)
    await place.write(lend(granted.claim).tx, item.key)
    await settled(() => store.mark([granted.claim]))
  }

  it.each([
    ['transaction', 2],
    ['transaction', 4],
    ['session', 12],
  ] as const)(
    'handle 400 messages of two pools of 6 in %s mode over %i connections',
    async (poolMode, poolSize) => {
      const pools = await behind({ poolMode, poolSize })
      const inboxes = await Promise.all(pools.map((pool) => place.newInbox({ pool })))
      expect(await handled(inboxes, 400)).toEqual({ effects: 400, names: 400 })
      const findings = await inboxes[0]?.checkup?.()
      expect(findings).toContainEqual(expect.objectContaining({ check: 'postgres.pooler', found: 'a pooler' }))
    },
    60_000,
  )

  it('release with what they counted, and set aside, while others wait for a connection', async () => {
    const pools = await behind({ poolMode: 'transaction', poolSize: 2 })
    const inboxes = await Promise.all(pools.map((pool) => place.newInbox({ pool })))
    const items = Array.from({ length: 40 }, () => newItem())
    await allOf(items, async (item) => {
      const [first, second] = inboxes as [Store<PgTransaction>, Store<PgTransaction>]
      const tried = await claim(first, item, ALONE)
      if (!('claim' in tried)) throw new Error(`expected a claim that is granted, got ${tried.verdict}`)
      expect(await first.release([tried.claim], REFUND)).toEqual(['released'])
      const again = await claim(second, item, ALONE)
      expect(again).toMatchObject({ attempt: 1 })
      if ('claim' in again) await settled(() => second.setAside([again.claim], 'parked', { reason: 'test' }))
    })
    const verdicts = (await claimAll(inboxes[0] as Store, items)).map(({ verdict }) => verdict)
    expect(new Set(verdicts)).toEqual(new Set(['parked']))
  }, 60_000)

  it('with a flush ticker handle them too, marks asked for again where the backend has changed', async () => {
    const pools = await behind({ poolMode: 'transaction', poolSize: 2 })
    const durability = 'flush-ticker'
    const inboxes = await Promise.all(pools.map((pool) => place.newInbox({ pool, durability })))
    expect(await handled(inboxes, 60)).toEqual({ effects: 60, names: 60 })
  }, 60_000)

  it('keep leases in transaction mode', async () => {
    const pools = await behind({ poolMode: 'transaction', poolSize: 2 })
    const stores = pools.map((pool) => postgresLease({ pool, schema: place.schema }))
    await Promise.all(stores.map((store) => store.open()))
    const items = Array.from({ length: 100 }, () => newItem())
    await Promise.all(
      stores.map((store) =>
        allOf(items, async (item) => {
          const granted = await claim(store, item, ALONE)
          if ('claim' in granted) await store.mark([granted.claim])
        }),
      ),
    )
    expect(await claimAll(stores[0] as Store, items)).toMatchObject(items.map(() => ({ verdict: 'done' })))
  }, 60_000)

  it('keep positions in transaction mode', async () => {
    const pools = await behind({ poolMode: 'transaction', poolSize: 2 })
    const stores = await Promise.all(pools.map((pool) => place.newOffsets({ pool })))
    const streams = Array.from({ length: 8 }, (_, n) => `orders:${n}`)
    await Promise.all(
      streams.map(async (stream, at) => {
        const store = stores[at % stores.length] as Store<PgTransaction>
        for (let offset = 0n; offset < 10n; offset++) {
          const follows = offset === 0n ? undefined : offset
          await handle(store, { ...newItem({ digest: '' }), position: { stream, offset, follows } })
        }
      }),
    )
    const told = await stores[0]?.positions.next(SCOPE, streams)
    expect([...(told?.values() ?? [])].map(({ next }) => next)).toEqual(streams.map(() => 10n))
  }, 60_000)

  it('refuse to open in statement mode, whichever they are, and say what to do', async () => {
    const [pool] = await behind({ poolMode: 'statement', poolSize: 4 })
    const schema = place.schema
    await place.newInbox()
    for (const store of [
      postgresInbox({ pool, schema }),
      postgresInbox({ pool, schema, durability: 'flush-ticker' }),
      postgresOffsets({ pool, schema }),
      postgresLease({ pool, schema }),
    ]) {
      await expect(store.open()).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining('Set pool_mode = transaction'),
      })
      const findings = await store.checkup?.()
      expect(findings).toContainEqual(expect.objectContaining({ check: 'postgres.pooler', verdict: 'broken' }))
    }
    await expect(postgresMigrations({ pool, schema }).up()).rejects.toThrow('Set pool_mode = transaction')
  }, 60_000)
})

/** Some at once, each after another. */
async function allOf<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values()
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const item of left) await work(item)
    }),
  )
}

/** Asks until it is known. */
async function settled(ask: () => Promise<unknown>): Promise<void> {
  while ((await codeOf(ask())) === 'STORE_AMBIGUOUS');
}
