import { expect } from '../expect.ts'
import { adminOf, WHY } from './admin-laws.ts'
import type { RecordView } from '../../../src/core/record.ts'
import type { ClaimItem, Store } from '../../../src/ports/store.ts'
import {
  claim,
  claimAll,
  grantedBy,
  hold,
  LONG_MS,
  newDigest,
  newItem,
  only,
  SCOPE,
  SHORT_MS,
  until,
  verdictOf,
} from './claims.ts'
import { ALONE, holdNew, NO_REFUND, REFUND, given } from './given.ts'
import type { LeaseHarness, StoreHarness, StoreLaw } from './harness.ts'

const CAUSE = `Error: no card | "ключ" 100 % %7C\n'; drop table x --`

export async function viewOf(store: Store<unknown>, { key }: ClaimItem): Promise<RecordView> {
  return only(await adminOf(store).peek(SCOPE, [key]))
}

async function spoiledBy(spoil: StoreHarness['spoil'], { key }: ClaimItem): Promise<void> {
  if (spoil === undefined)
    throw new Error('expected a harness that can spoil, got one that cannot: see lacks.unreadable')
  await spoil(key)
}

/**
 * Laws about what a claim learns from a record, and about unreadable records. For every store with a record for each
 * key.
 */
export const recordLaws: readonly StoreLaw[] = [
  {
    name: 'lets nobody claim what is released before its time, in whatever process and for whatever copy, and says how long',
    needs: 'stories',
    async run({ store, secondStore }) {
      const { item, claim: claimed } = await holdNew(store)
      const later = { refund: false, doubt: false, delayMs: LONG_MS }
      expect(await store.release([claimed], later)).toEqual(['released'])
      for (const other of [store, await secondStore()]) {
        for (const how of [ALONE, {}]) {
          const answer = await claim(other, item, how)
          if ('claim' in answer) await other.release([answer.claim], NO_REFUND)
          if (answer.verdict !== 'busy') throw new Error(`expected busy, got ${answer.verdict}`)
          expect(answer.leaseLeftMs).toBeGreaterThan(LONG_MS / 2)
          expect(answer.leaseLeftMs).toBeAtMost(LONG_MS)
        }
        expect(await verdictOf(claim(other, { ...item, digest: newDigest() }, ALONE))).toBe('conflict')
      }
      expect(await store.release([claimed], { ...later, delayMs: 0 })).toEqual(['already-released'])
      expect(await verdictOf(claim(store, item, ALONE))).toBe('busy')
    },
  },
  {
    name: 'lets everybody claim what is released as soon as its time has come',
    needs: 'stories',
    async run(harness: LeaseHarness) {
      const { store, secondStore } = harness
      const { item, claim: claimed } = await holdNew(store)
      await store.release([claimed], { refund: false, doubt: false, delayMs: SHORT_MS })
      await harness.advance?.(SHORT_MS)
      const second = await secondStore()
      await until(harness, 'claimed', async () => {
        const answer = await claim(second, item, ALONE)
        if (!('claim' in answer)) return false
        expect(answer).toMatchObject({ verdict: 'claimed', attempt: 2 })
        await second.release([answer.claim], NO_REFUND)
        return true
      })
    },
  },
  {
    name: 'keeps the payload of an attempt that failed: another one under the same key is a conflict, and changes nothing',
    needs: 'stories',
    async run({ store, secondStore }) {
      const item = newItem()
      for (const attempt of [1, 2]) {
        const granted = await hold(store, item, ALONE)
        expect(granted.attempt).toBe(attempt)
        await store.release([granted.claim], NO_REFUND)
        for (const other of [store, await secondStore()]) {
          for (const how of [ALONE, {}]) {
            expect(await verdictOf(claim(other, { ...item, digest: newDigest() }, how))).toBe('conflict')
          }
        }
      }
      const { claim: unlike, attempt } = await hold(store, { ...item, digest: '' }, ALONE)
      expect(attempt).toBe(3)
      await store.release([unlike], NO_REFUND)
    },
  },
  {
    name: 'shows people of what failed why, and when its next attempt may begin',
    needs: ['admin', 'stories'],
    async run({ store }) {
      const { item, claim: claimed } = await holdNew(store)
      await store.release([claimed], { refund: false, doubt: false, delayMs: LONG_MS, cause: CAUSE })
      const view = await viewOf(store, item)
      expect(view).toMatchObject({ state: 'released', attempt: 1, cause: CAUSE })
      expect(view.notBefore).toBeGreaterThan(0)
    },
  },
  {
    name: 'tells every later claim why, after how many attempts and since when a record is set aside',
    needs: 'stories',
    async run({ store, secondStore }) {
      for (const as of ['given-up', 'parked'] as const) {
        const item = newItem()
        await store.release([(await hold(store, item)).claim], { refund: false, doubt: false, cause: 'Error: first' })
        const { claim: claimed } = await hold(store, item, ALONE)
        expect(await store.setAside([claimed], as, { reason: 'attempts|spent', cause: CAUSE })).toEqual([as])
        const met = await claim(await secondStore(), item, ALONE)
        expect(met).toMatchObject({ verdict: as, reason: 'attempts|spent', attempt: 2, cause: CAUSE })
        if (!('since' in met) || met.since === undefined) throw new Error('expected since when, got nothing')
        expect(await store.setAside([claimed], as, { reason: 'another', cause: 'another' })).toEqual([as])
        expect(await claim(store, item)).toEqual(met)
      }
    },
  },
  {
    name: 'counts no start of a handler that never began, in what it sets aside',
    needs: 'stories',
    async run({ store }) {
      const { item, claim: claimed } = await holdNew(store)
      await store.setAside([claimed], 'given-up', { reason: 'schema', refund: true })
      const met = await claim(store, item)
      expect(met).toMatchObject({ verdict: 'given-up', reason: 'schema', attempt: 0 })
      expect('cause' in met ? met.cause : undefined).toBe(undefined)
    },
  },
  {
    name: 'shows people since when, after how many attempts and why a record is set aside',
    needs: ['admin', 'stories'],
    async run({ store }) {
      const { item, claim: claimed } = await holdNew(store)
      await store.setAside([claimed], 'parked', { reason: 'in-doubt', cause: CAUSE })
      const view = await viewOf(store, item)
      expect(view).toMatchObject({ state: 'parked', reason: 'in-doubt', attempt: 1, cause: CAUSE })
      expect(view.since).toBeGreaterThan(0)
      const page = await store.admin?.list(SCOPE, { state: 'parked', limit: 1_000 })
      expect(page?.records.find(({ key }) => key === item.key)).toMatchObject(view)
    },
  },
  {
    name: 'starts again without backoff and cause once a person has let it run',
    needs: ['admin', 'stories'],
    async run({ store }) {
      const item = newItem()
      await store.release([(await hold(store, item)).claim], { refund: false, doubt: false, cause: CAUSE })
      const { claim: claimed } = await hold(store, item, ALONE)
      await store.setAside([claimed], 'parked', { reason: 'wait', cause: CAUSE })
      await store.admin?.resolve(SCOPE, [item.key], { ...WHY, as: 'rerun' })
      expect((await viewOf(store, item)).cause).toBe(undefined)
      const again = await hold(store, item)
      expect(again.attempt).toBe(1)
      await store.release([again.claim], NO_REFUND)
    },
  },
  {
    name: 'answers unreadable for the key that it cannot read alone, and grants the others',
    needs: 'unreadable',
    async run({ store, secondStore, spoil }) {
      const [before, after] = [newItem(), newItem()]
      const [spoiled] = await given(store, 'parked')
      await spoiledBy(spoil, spoiled)
      for (const other of [store, await secondStore()]) {
        for (const how of [ALONE, {}]) {
          const answers = await claimAll(other, [before, spoiled, after], how)
          expect(answers.map(({ verdict }) => verdict)).toEqual(['claimed', 'unreadable', 'claimed'])
          const granted = [grantedBy(answers[0]).claim, grantedBy(answers[2]).claim]
          await other.release(granted, REFUND)
        }
      }
      const answer = await claim(store, { ...spoiled, digest: newDigest() })
      if (answer.verdict !== 'unreadable') throw new Error(`expected unreadable, got ${answer.verdict}`)
      expect(answer.found).toMatch(/./)
    },
  },
  {
    name: 'shows people a record that it cannot read among the others, and decides nothing of it',
    needs: ['admin', 'unreadable'],
    async run({ store, spoil }) {
      const admin = adminOf(store)
      const [done, spoiled] = await given(store, 'done', 'parked')
      await spoiledBy(spoil, spoiled)
      const keys = [spoiled.key, done.key]
      const [view, other] = await admin.peek(SCOPE, keys)
      expect([view?.state, other?.state]).toEqual(['unreadable', 'done'])
      expect(view?.found).toMatch(/./)
      const { records } = await admin.list(SCOPE, { state: 'parked', limit: 1_000 })
      expect(records.map(({ key }) => key)).notToContain(spoiled.key)
      for (const as of ['done', 'rerun'] as const) {
        expect((await admin.resolve(SCOPE, keys, { ...WHY, as }))[0]).toBe('refused')
      }
      expect(await admin.reopen(SCOPE, keys, WHY)).toEqual(['refused', 'refused'])
      expect((await admin.forget(SCOPE, [spoiled.key], WHY))[0]).toBe('refused')
      expect(await verdictOf(claim(store, spoiled, ALONE))).toBe('unreadable')
    },
  },
]

/** The same for leases. */
export const leaseRecordLaws: readonly StoreLaw<LeaseHarness>[] = [
  {
    name: 'marks what is released before its time, since its effect did happen',
    async run({ store }) {
      const { item, claim: claimed } = await holdNew(store)
      await store.release([claimed], { refund: false, doubt: false, delayMs: LONG_MS })
      expect(await store.mark([claimed])).toEqual(['marked-late'])
      expect(await claim(store, item)).toMatchObject({ verdict: 'done' })
    },
  },
  {
    name: 'shows why the last attempt failed and when the next may begin, until a person lets it run at once',
    needs: 'admin',
    async run({ store }) {
      const { item, claim: claimed } = await holdNew(store)
      await store.release([claimed], { refund: false, doubt: true, delayMs: LONG_MS, cause: CAUSE })
      const view = await viewOf(store, item)
      expect(view).toMatchObject({ state: 'in-doubt', attempt: 1, cause: CAUSE })
      expect(view.notBefore).toBeGreaterThan(0)
      expect(await verdictOf(claim(store, item, ALONE))).toBe('busy')
      await store.admin?.resolve(SCOPE, [item.key], { ...WHY, as: 'rerun' })
      expect(await hold(store, item)).toMatchObject({ verdict: 'claimed', attempt: 1 })
    },
  },
  {
    name: 'moves nothing that it cannot read: it belongs to somebody else, as far as anyone can tell',
    needs: 'unreadable',
    async run({ store, spoil }) {
      const [{ claim: ofWhole }, { claim: claimed, ...spoiled }] = await given(store, 'held', 'held')
      await spoiledBy(spoil, spoiled)
      expect(await store.renew([claimed, ofWhole], LONG_MS)).toEqual(['lost', 'renewed'])
      expect(await store.mark([claimed, ofWhole])).toEqual(['refused-busy', 'marked'])
      expect(await store.release([claimed], NO_REFUND)).toEqual(['refused'])
      expect(await store.setAside([claimed], 'parked', { reason: 'no' })).toEqual(['refused'])
      expect(await verdictOf(claim(store, spoiled, ALONE))).toBe('unreadable')
    },
  },
]
