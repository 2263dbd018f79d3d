import { expect } from '../expect.ts'
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
import type { LeaseHarness, StoreLaw } from './harness.ts'

const ALONE = { alone: true }
const CAUSE = `Error: no card | "ключ" 100 % %7C\n'; drop table x --`

async function viewOf({ admin }: Store<unknown>, { key }: ClaimItem): Promise<RecordView> {
  if (admin === undefined) throw new Error('expected a store with admin')
  return only(await admin.peek(SCOPE, [key]))
}

/** What a record tells whoever meets it, and what nobody can read. */
export const recordLaws: readonly StoreLaw<LeaseHarness>[] = [
  {
    name: 'lets nobody claim what is released before its time, in whatever process and for whatever copy, and says how long',
    async run({ store, secondStore }) {
      const item = newItem()
      const { claim: claimed, fence } = await hold(store, item)
      const later = { refund: false, doubt: false, delayMs: LONG_MS }
      expect(await store.release([claimed], later)).toEqual(['released'])
      for (const other of [store, await secondStore()]) {
        for (const how of [ALONE, {}]) {
          const answer = await claim(other, item, how)
          if (answer.verdict !== 'busy') throw new Error(`expected busy, got ${answer.verdict}`)
          expect(answer.leaseLeftMs).toBeGreaterThan(LONG_MS / 2)
          expect(answer.leaseLeftMs).toBeAtMost(LONG_MS)
        }
        expect(await verdictOf(claim(other, { ...item, digest: newDigest() }, ALONE))).toBe('conflict')
      }
      expect(await store.release([claimed], { ...later, delayMs: 0 })).toEqual(['already-released'])
      expect(await verdictOf(claim(store, item, ALONE))).toBe('busy')
      const next = newItem({ key: newItem().key, digest: item.digest })
      expect(await hold(store, next)).toMatchObject({ attempt: 1, fence })
    },
  },
  {
    name: 'lets everybody claim what is released as soon as its time has come',
    async run(harness) {
      const { store, secondStore } = harness
      const item = newItem()
      const { claim: claimed } = await hold(store, item)
      await store.release([claimed], { refund: false, doubt: false, delayMs: SHORT_MS })
      await harness.advance?.(SHORT_MS)
      const second = await secondStore()
      await until(harness, 'claimed', async () => {
        const answer = await claim(second, item, ALONE)
        if ('claim' in answer) expect(answer).toMatchObject({ verdict: 'claimed', attempt: 2 })
        return 'claim' in answer
      })
    },
  },
  {
    name: 'marks what is released before its time, since its effect did happen',
    async run({ store }) {
      const item = newItem()
      const { claim: claimed } = await hold(store, item)
      await store.release([claimed], { refund: false, doubt: false, delayMs: LONG_MS })
      expect(await store.mark([claimed])).toEqual(['marked-late'])
      expect(await claim(store, item)).toEqual({ verdict: 'done' })
    },
  },
  {
    name: 'shows why the last attempt failed and when the next may begin, until a person lets it run at once',
    needs: 'admin',
    async run({ store }) {
      const item = newItem()
      const { claim: claimed } = await hold(store, item)
      await store.release([claimed], { refund: false, doubt: true, delayMs: LONG_MS, cause: CAUSE })
      const view = await viewOf(store, item)
      expect(view).toMatchObject({ state: 'in-doubt', attempt: 1, cause: CAUSE })
      expect(view.notBefore).toBeGreaterThan(0)
      expect(await verdictOf(claim(store, item, ALONE))).toBe('busy')
      const why = { by: 'contract', reason: 'a law', retentionMs: LONG_MS }
      await store.admin?.resolve(SCOPE, [item.key], { ...why, as: 'rerun' })
      expect(await hold(store, item)).toMatchObject({ verdict: 'claimed', attempt: 1 })
    },
  },
  {
    name: 'tells every later claim why, after how many attempts and since when a record is set aside',
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
    async run({ store }) {
      const item = newItem()
      const { claim: claimed } = await hold(store, item)
      await store.setAside([claimed], 'given-up', { reason: 'schema', refund: true })
      const met = await claim(store, item)
      expect(met).toMatchObject({ verdict: 'given-up', reason: 'schema', attempt: 0 })
      expect('cause' in met ? met.cause : undefined).toBe(undefined)
    },
  },
  {
    name: 'shows people since when, after how many attempts and why a record is set aside',
    needs: 'admin',
    async run({ store }) {
      const item = newItem()
      const { claim: claimed } = await hold(store, item)
      await store.setAside([claimed], 'parked', { reason: 'in-doubt', cause: CAUSE })
      const view = await viewOf(store, item)
      expect(view).toMatchObject({ state: 'parked', reason: 'in-doubt', attempt: 1, cause: CAUSE })
      expect(view.since).toBeGreaterThan(0)
      const page = await store.admin?.list(SCOPE, { state: 'parked', limit: 1_000 })
      expect(page?.records.find(({ key }) => key === item.key)).toMatchObject(view)
    },
  },
  {
    name: 'answers unreadable for the key that it cannot read alone, grants the others, and leaves that record as it is',
    needs: 'unreadable',
    async run({ store, secondStore, spoil }) {
      if (spoil === undefined)
        throw new Error('expected a harness that can spoil, got one that cannot: see lacks.unreadable')
      const [before, spoiled, after] = [newItem(), newItem(), newItem()]
      const { claim: claimed } = await hold(store, spoiled)
      await spoil(spoiled.key)
      for (const other of [store, await secondStore()]) {
        for (const how of [ALONE, {}]) {
          const answers = await claimAll(other, [before, spoiled, after], how)
          expect(answers.map(({ verdict }) => verdict)).toEqual(['claimed', 'unreadable', 'claimed'])
          const granted = [grantedBy(answers[0]).claim, grantedBy(answers[2]).claim]
          await other.release(granted, { refund: true, doubt: false })
        }
      }
      const answer = await claim(store, { ...spoiled, digest: newDigest() })
      if (answer.verdict !== 'unreadable') throw new Error(`expected unreadable, got ${answer.verdict}`)
      expect(answer.found).toMatch(/./)
      const { claim: whole } = await hold(store, before, ALONE)
      expect(await store.renew([claimed, whole], LONG_MS)).toEqual(['lost', 'renewed'])
      expect(await store.mark([claimed, whole])).toEqual(['refused-busy', 'marked'])
      expect(await store.release([claimed], { refund: false, doubt: false })).toEqual(['refused'])
      expect(await store.setAside([claimed], 'parked', { reason: 'no' })).toEqual(['refused'])
      expect(await verdictOf(claim(store, spoiled, ALONE))).toBe('unreadable')
    },
  },
  {
    name: 'shows people a record that it cannot read among the others, and decides nothing of it',
    needs: 'unreadable',
    async run({ store, spoil }) {
      const { admin } = store
      if (admin === undefined || spoil === undefined) return
      const [done, spoiled] = [newItem(), newItem()]
      await store.mark([(await hold(store, done)).claim])
      await hold(store, spoiled)
      await spoil(spoiled.key)
      const keys = [spoiled.key, done.key]
      const [view, other] = await admin.peek(SCOPE, keys)
      expect([view?.state, other?.state]).toEqual(['unreadable', 'done'])
      expect(view?.found).toMatch(/./)
      const { records } = await admin.list(SCOPE, { state: 'processing', limit: 1_000 })
      expect(records.map(({ key }) => key)).notToContain(spoiled.key)
      const why = { by: 'contract', reason: 'a law', retentionMs: LONG_MS }
      for (const as of ['done', 'rerun'] as const) {
        expect((await admin.resolve(SCOPE, keys, { ...why, as }))[0]).toBe('refused')
      }
      expect(await admin.reopen(SCOPE, keys, why)).toEqual(['refused', 'refused'])
      expect((await admin.forget(SCOPE, [spoiled.key], why))[0]).toBe('refused')
      expect(await verdictOf(claim(store, spoiled, ALONE))).toBe('unreadable')
    },
  },
]
