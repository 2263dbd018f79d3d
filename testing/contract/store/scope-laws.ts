import { expect } from '../expect.ts'
import type { Key } from '../../../src/core/record.ts'
import type { StoreAdmin } from '../../../src/ports/store-admin.ts'
import type { ClaimItem, Store } from '../../../src/ports/store.ts'
import { adminOf, WHY } from './admin-laws.ts'
import { claim, hold, LONG_MS, newItem, SCOPE, SHORT_MS, until } from './claims.ts'
import { IN_DOUBT } from './given.ts'
import type { LeaseHarness, StoreLaw } from './harness.ts'

/** Of another consumer on the same store. */
export const ANOTHER = 'contract/another-consumer'
const OF_ANOTHER = { scope: ANOTHER }

async function setAside(store: Store<unknown>, item: ClaimItem, as: 'given-up' | 'parked', scope: string) {
  await store.setAside([(await hold(store, item, { scope })).claim], as, { reason: 'no luck' })
}

async function listed(admin: StoreAdmin, scope: string, state: 'parked' | 'given-up' | 'processing' | 'in-doubt') {
  const { records } = await admin.list(scope, { state, limit: 1_000 })
  return records.map(({ key }): Key => key)
}

/** Whatever a person may decide, in a scope that the records are not of. */
async function decideAll(admin: StoreAdmin, scope: string, keys: readonly Key[]): Promise<readonly unknown[]> {
  const verdicts = [
    await admin.resolve(scope, keys, { ...WHY, as: 'done' }),
    await admin.resolve(scope, keys, { ...WHY, as: 'rerun' }),
    await admin.reopen(scope, keys, WHY),
    await admin.forget(scope, keys, WHY),
  ]
  return verdicts.flat()
}

/** Several consumers share a store: people look at, and decide about, the records of one of them. */
export const scopeLaws: readonly StoreLaw[] = [
  {
    name: 'shows and lists what was set aside in its own scope only',
    needs: 'admin',
    async run({ store, secondStore }) {
      for (const as of ['parked', 'given-up'] as const) {
        const [own, other] = [newItem(), newItem()]
        await setAside(store, own, as, SCOPE)
        await setAside(store, other, as, ANOTHER)
        const admin = adminOf(await secondStore())
        for (const [scope, its, not] of [
          [SCOPE, own, other],
          [ANOTHER, other, own],
        ] as const) {
          const keys = await listed(admin, scope, as)
          expect(keys).toContain(its.key)
          expect(keys).notToContain(not.key)
          const views = await admin.peek(scope, [not.key, its.key])
          expect(views.map(({ state }) => state)).toEqual(['absent', as])
        }
      }
    },
  },
  {
    name: 'decides nothing about what was set aside in another scope, and logs nothing of it',
    needs: 'admin',
    async run({ store, secondStore }) {
      const [parked, givenUp] = [newItem(), newItem()]
      await setAside(store, parked, 'parked', ANOTHER)
      await setAside(store, givenUp, 'given-up', ANOTHER)
      const keys = [parked.key, givenUp.key]
      const admin = adminOf(await secondStore())
      expect(await decideAll(admin, SCOPE, keys)).notToContain('decided')
      const views = await admin.peek(ANOTHER, keys)
      expect(views.map(({ state }) => state)).toEqual(['parked', 'given-up'])
      expect(await claim(store, parked, OF_ANOTHER)).toMatchObject({ verdict: 'parked' })
      expect(await admin.resolve(ANOTHER, keys, { ...WHY, as: 'done' })).toEqual(['decided', 'decided'])
    },
  },
  {
    name: 'shows the decisions about records of its own scope only',
    needs: ['admin', 'audit'],
    async run({ store, secondStore }) {
      const other = newItem()
      await setAside(store, other, 'parked', ANOTHER)
      const admin = adminOf(await secondStore())
      await admin.resolve(ANOTHER, [other.key], { ...WHY, as: 'done' })
      const keysIn = async (scope: string): Promise<readonly Key[]> =>
        ((await admin.audit?.(scope, { limit: 100 }))?.entries ?? []).map(({ key }) => key)
      expect(await keysIn(ANOTHER)).toContain(other.key)
      expect(await keysIn(SCOPE)).notToContain(other.key)
    },
  },
  {
    name: 'neither shows nor forgets what is done in another scope',
    needs: ['admin', 'done-scopes'],
    async run({ store, secondStore }) {
      const other = newItem()
      await store.mark([(await hold(store, other, OF_ANOTHER)).claim])
      const admin = adminOf(await secondStore())
      expect((await admin.peek(SCOPE, [other.key])).map(({ state }) => state)).toEqual(['absent'])
      expect(await decideAll(admin, SCOPE, [other.key])).notToContain('decided')
      expect(await claim(store, other, OF_ANOTHER)).toMatchObject({ verdict: 'done' })
    },
  },
]

/** The same, of leases that are held and of leases that have ended. */
export const leaseScopeLaws: readonly StoreLaw<LeaseHarness>[] = [
  {
    name: 'lists what is processed and what is in doubt in its own scope only, and decides about no other',
    needs: 'admin',
    async run(harness) {
      const { store } = harness
      const [held, over, released] = [newItem(), newItem(), newItem()]
      await hold(store, held, { ...OF_ANOTHER, leaseMs: LONG_MS })
      await hold(store, over, { ...OF_ANOTHER, leaseMs: SHORT_MS })
      await store.release([(await hold(store, released, OF_ANOTHER)).claim], IN_DOUBT)
      const admin = adminOf(store)
      const keys = [held.key, over.key, released.key]
      await harness.advance?.(SHORT_MS)
      await until(harness, 'in-doubt', async () => (await admin.peek(ANOTHER, [over.key]))[0]?.state === 'in-doubt')
      expect((await admin.peek(SCOPE, keys)).map(({ state }) => state)).toEqual(['absent', 'absent', 'absent'])
      for (const [state, inDoubt] of [
        ['processing', [held]],
        ['in-doubt', [over, released]],
      ] as const) {
        const own = await listed(admin, SCOPE, state)
        for (const { key } of inDoubt) expect(own).notToContain(key)
        const its = await listed(admin, ANOTHER, state)
        for (const { key } of inDoubt) expect(its).toContain(key)
      }
      expect(await decideAll(admin, SCOPE, keys)).notToContain('decided')
      const views = await admin.peek(ANOTHER, keys)
      expect(views.map(({ state }) => state)).toEqual(['processing', 'in-doubt', 'in-doubt'])
    },
  },
]
