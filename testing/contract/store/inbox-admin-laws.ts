import { expect } from '../expect.ts'
import { WHY } from './admin-laws.ts'
import { claim, hold, newItem, newName, SCOPE } from './claims.ts'
import { ALONE, NO_REFUND, holdNew, given } from './given.ts'
import type { InboxHarness, StoreLaw } from './harness.ts'

/** A running claim is a row that nobody sees: no decision may bypass it. */
export const inboxAdminLaws: readonly StoreLaw<InboxHarness>[] = [
  {
    name: 'decides nothing about a key whose transaction is open, in whatever process',
    needs: ['admin', 'parallel-transactions'],
    async run(harness) {
      const { store } = harness
      const { admin } = await harness.secondStore()
      const [item, effect] = [newItem(), newName()]
      const { claim: claimed } = await hold(store, item)
      const lent = claimed.transaction?.lend()
      await harness.write(lent?.tx, effect)
      lent?.revoke()
      for (const as of ['done', 'rerun'] as const) {
        expect(await admin?.resolve(SCOPE, [item.key], { ...WHY, as })).toEqual(['refused'])
      }
      expect(await admin?.reopen(SCOPE, [item.key], WHY)).toEqual(['refused'])
      expect(await admin?.forget(SCOPE, [item.key], WHY)).toEqual(['refused'])
      expect(await store.mark([claimed])).toEqual(['marked'])
      expect(await harness.committed(effect)).toBe(1)
      expect(await claim(store, item)).toMatchObject({ verdict: 'done' })
    },
  },
  {
    name: 'decides about all other keys of a call where one is held, and runs what it opened with all attempts',
    needs: ['admin', 'parallel-transactions'],
    async run({ store, secondStore }) {
      const second = await secondStore()
      const [parked, failed] = await given(store, 'released', 'released')
      await store.setAside([(await hold(store, parked, ALONE)).claim], 'parked', { reason: 'no luck' })
      const { item: held, claim: claimed } = await holdNew(store)
      const keys = [parked, held, failed].map(({ key }) => key)
      // A failed message that was not set aside needs no decision: its next delivery runs.
      const verdicts = await second.admin?.resolve(SCOPE, keys, { ...WHY, as: 'rerun' })
      expect(verdicts).toEqual(['decided', 'refused', 'refused'])
      expect(await store.mark([claimed])).toEqual(['marked'])
      const again = await hold(second, parked)
      expect(again).toMatchObject({ verdict: 'claimed', attempt: 1 })
      await second.release([again.claim], NO_REFUND)
      const views = await second.admin?.peek(SCOPE, [...keys, newItem().key])
      expect(views?.map(({ state, attempt }) => [state, attempt])).toEqual([
        ['released', 1],
        ['done', undefined],
        ['released', 1],
        ['absent', undefined],
      ])
    },
  },
  {
    name: 'knows what a person has let run, over attempts given back, until it is marked',
    needs: 'admin',
    async run({ store }) {
      const [item] = await given(store, 'given-up')
      await store.admin?.reopen(SCOPE, [item.key], WHY)
      for (const refund of [true, false]) {
        const again = await hold(store, item)
        expect(again).toMatchObject({ attempt: 1, isKnown: true })
        await store.release([again.claim], { refund, doubt: false })
      }
      const last = await hold(store, item, ALONE)
      expect(last).toMatchObject({ attempt: 2, isKnown: true })
      await store.mark([last.claim])
      const fresh = await hold(store, newItem())
      expect('isKnown' in fresh).toBe(false)
      await store.release([fresh.claim], NO_REFUND)
    },
  },
]
