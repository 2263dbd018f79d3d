import { expect } from '../expect.ts'
import type { RecordPage, StoreAdmin, Why } from '../../../src/ports/store-admin.ts'
import type { ClaimItem, Store } from '../../../src/ports/store.ts'
import { abandon, claim, hold, LONG_MS, newItem, SCOPE, SHORT_MS } from './claims.ts'
import { abandonNew, ALONE, holdNew, IN_DOUBT, REFUND, given } from './given.ts'
import type { LeaseHarness, StoreLaw } from './harness.ts'

export const WHY: Why = { by: 'contract', reason: "it's | a law", retentionMs: LONG_MS }

export function adminOf({ admin }: Store<unknown>): StoreAdmin {
  if (admin === undefined) throw new Error('expected a store with admin')
  return admin
}

export async function stateOf(store: Store<unknown>, { key }: ClaimItem): Promise<string | undefined> {
  return (await adminOf(store).peek(SCOPE, [key]))[0]?.state
}

/** Expects that its next delivery runs, with all its attempts. Leaves nothing open. */
export async function expectRun(store: Store<unknown>, item: ClaimItem): Promise<void> {
  const { verdict, attempt, claim: claimed } = await hold(store, item)
  expect([verdict, attempt]).toEqual(['claimed', 1])
  await store.release([claimed], REFUND)
}

/** Decisions by people, the same in every store as in `transition()`. */
export const adminLaws: readonly StoreLaw[] = [
  {
    name: 'shows each record as it is, in the order of the keys, and changes nothing',
    needs: 'admin',
    async run({ store }) {
      const absent = newItem()
      const [done, givenUp, parked] = await given(store, 'done', 'given-up', 'parked')
      const keys = [parked, absent, givenUp, done].map(({ key }) => key)
      for (let again = 0; again < 2; again++) {
        const views = await adminOf(store).peek(SCOPE, keys)
        expect(views.map(({ state, digest, reason }) => [state, digest, reason])).toEqual([
          ['parked', parked.digest, 'no luck'],
          ['absent', undefined, undefined],
          ['given-up', givenUp.digest, 'no luck'],
          ['done', done.digest, undefined],
        ])
      }
      await expectRun(store, absent)
    },
  },
  {
    name: 'resolves what was set aside as done: no handler runs any more',
    needs: 'admin',
    async run({ store, secondStore }) {
      for (const as of ['given-up', 'parked'] as const) {
        const [item] = await given(store, as)
        const admin = adminOf(await secondStore())
        expect(await admin.resolve(SCOPE, [item.key], { ...WHY, as: 'done' })).toEqual(['decided'])
        expect(await admin.resolve(SCOPE, [item.key], { ...WHY, as: 'done' })).toEqual(['already'])
        expect(await claim(store, item)).toMatchObject({ verdict: 'done' })
      }
    },
  },
  {
    name: 'resolves what was set aside to run again, with all its attempts',
    needs: 'admin',
    async run({ store }) {
      for (const as of ['given-up', 'parked'] as const) {
        const [item] = await given(store, as)
        expect(await adminOf(store).resolve(SCOPE, [item.key], { ...WHY, as: 'rerun' })).toEqual(['decided'])
        expect(await adminOf(store).resolve(SCOPE, [item.key], { ...WHY, as: 'rerun' })).toEqual(['already'])
        await expectRun(store, item)
      }
    },
  },
  {
    name: 'reopens what was given up, and nothing that is parked or done',
    needs: 'admin',
    async run({ store }) {
      const [givenUp, parked, done] = await given(store, 'given-up', 'parked', 'done')
      const keys = [givenUp, parked, done].map(({ key }) => key)
      expect(await adminOf(store).reopen(SCOPE, keys, WHY)).toEqual(['decided', 'refused', 'refused'])
      expect(await adminOf(store).reopen(SCOPE, keys, WHY)).toEqual(['already', 'refused', 'refused'])
      expect(await stateOf(store, parked)).toBe('parked')
      expect(await claim(store, done)).toMatchObject({ verdict: 'done' })
      await expectRun(store, givenUp)
    },
  },
  {
    name: 'forgets what is done, and nothing that is parked or given up',
    needs: 'admin',
    async run({ store }) {
      const [done, parked, givenUp] = await given(store, 'done', 'parked', 'given-up')
      const keys = [done, parked, givenUp].map(({ key }) => key)
      expect(await adminOf(store).forget(SCOPE, keys, WHY)).toEqual(['decided', 'refused', 'refused'])
      expect(await adminOf(store).forget(SCOPE, keys, WHY)).toEqual(['already', 'refused', 'refused'])
      await expectRun(store, done)
    },
  },
  {
    name: 'lists what was set aside, page by page, each once',
    needs: 'admin',
    async run({ store }) {
      const items = await given(store, ...Array.from({ length: 5 }, () => 'parked' as const))
      // Perhaps on two pages, while the table of a Redis server grows or shrinks.
      const seen: string[] = []
      let after: string | undefined
      do {
        const page = await adminOf(store).list(SCOPE, { state: 'parked', limit: 2, after })
        expect(page.records.length).toBeGreaterThan(0)
        expect(new Set(page.records.map(({ key }) => key)).size).toBe(page.records.length)
        for (const { key, reason } of page.records) if (reason === 'no luck') seen.push(key)
        after = page.next
      } while (after !== undefined)
      const own = seen.filter((key) => items.some((item) => item.key === key))
      expect([...new Set(own)].toSorted()).toEqual(items.map(({ key }) => key).toSorted())
    },
  },
  {
    name: 'looks at a bounded number of records for a page, and goes on from there',
    needs: 'admin',
    async run({ store }) {
      const items = await given(store, ...Array.from({ length: 12 }, () => 'parked' as const))
      const seen: string[] = []
      let [pages, after]: [number, string | undefined] = [0, undefined]
      do {
        const page: RecordPage = await adminOf(store).list(SCOPE, { state: 'parked', limit: 50, lookAtMost: 5, after })
        const keys = page.records.map(({ key }) => key)
        expect(new Set(keys).size).toBe(keys.length)
        seen.push(...keys)
        pages++
        after = page.next
      } while (after !== undefined)
      const own = seen.filter((key) => items.some((item) => item.key === key))
      expect([...new Set(own)].toSorted()).toEqual(items.map(({ key }) => key).toSorted())
      expect(pages).toBeGreaterThan(1)
    },
  },
]

/** For leases: a claim can be seen, and left in doubt. */
export const leaseAdminLaws: readonly StoreLaw<LeaseHarness>[] = [
  {
    name: 'decides nothing that a living owner holds',
    needs: 'admin',
    async run({ store }) {
      const { item, claim: claimed, fence } = await holdNew(store)
      const admin = adminOf(store)
      expect(await admin.peek(SCOPE, [item.key])).toMatchObject([{ state: 'processing', fence, attempt: 1 }])
      for (const as of ['done', 'rerun'] as const) {
        expect(await admin.resolve(SCOPE, [item.key], { ...WHY, as })).toEqual(['refused'])
      }
      expect(await admin.reopen(SCOPE, [item.key], WHY)).toEqual(['refused'])
      expect(await admin.forget(SCOPE, [item.key], WHY)).toEqual(['refused'])
      expect(await store.mark([claimed])).toEqual(['marked'])
    },
  },
  {
    name: 'shows and resolves what is in doubt: lease over, or released in doubt',
    needs: 'admin',
    async run(harness) {
      const { store } = harness
      const [over, released, done] = [newItem(), newItem(), newItem()]
      await abandon(harness, over)
      await store.release([(await hold(store, released)).claim], IN_DOUBT)
      await abandon(harness, done)
      const admin = adminOf(store)
      expect(await Promise.all([over, released].map((item) => stateOf(store, item)))).toEqual(['in-doubt', 'in-doubt'])
      const keys = [over.key, released.key]
      expect(await admin.reopen(SCOPE, keys, WHY)).toEqual(['refused', 'refused'])
      expect(await admin.resolve(SCOPE, keys, { ...WHY, as: 'rerun' })).toEqual(['decided', 'decided'])
      for (const item of [over, released]) {
        expect(await hold(store, item)).toMatchObject({ verdict: 'claimed', fence: 2, attempt: 1 })
      }
      expect(await admin.resolve(SCOPE, [done.key], { ...WHY, as: 'done' })).toEqual(['decided'])
      expect(await claim(store, done, ALONE)).toMatchObject({ verdict: 'done' })
    },
  },
  {
    name: 'lets fences grow over decisions, so that a late owner stays refused',
    needs: 'admin',
    async run(harness) {
      const { store } = harness
      const { item, claim: late } = await abandonNew(harness)
      await adminOf(store).resolve(SCOPE, [item.key], { ...WHY, as: 'rerun' })
      const next = await hold(store, item)
      expect(next.fence).toBe(2)
      expect(await store.mark([late])).toEqual(['refused-busy'])
      await store.mark([next.claim])
      await adminOf(store).forget(SCOPE, [item.key], WHY)
      expect((await hold(store, item)).fence).toBe(3)
    },
  },
  {
    name: 'lists what is processed and what is in doubt apart',
    needs: 'admin',
    async run(harness) {
      const [held, over] = [newItem(), newItem()]
      await hold(harness.store, held, { leaseMs: LONG_MS })
      await abandon(harness, over, { leaseMs: SHORT_MS })
      for (const [state, mine, other] of [
        ['processing', held, over],
        ['in-doubt', over, held],
      ] as const) {
        const { records } = await adminOf(harness.store).list(SCOPE, { state, limit: 1_000 })
        const keys = records.map(({ key }) => key)
        expect(keys).toContain(mine.key)
        expect(keys).notToContain(other.key)
      }
    },
  },
]
