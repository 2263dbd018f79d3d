import { expect } from '../expect.ts'
import { abandon, claim, claimAll, forged, hold, newItem, verdictOf } from './claims.ts'
import { abandonNew, ALONE, holdNew, NO_REFUND, given } from './given.ts'
import type { LeaseHarness, StoreLaw } from './harness.ts'

export const markLaws: readonly StoreLaw<LeaseHarness>[] = [
  {
    name: 'answers already-marked to a mark that is sent again',
    async run({ store, secondStore }) {
      const { claim: claimed } = await hold(store, newItem())
      expect(await store.mark([claimed])).toEqual(['marked'])
      expect(await store.mark([claimed])).toEqual(['already-marked'])
      expect(await (await secondStore()).mark([claimed])).toEqual(['already-marked'])
    },
  },
  {
    name: 'marks before it claims what is asked for behind the mark, where it says that it keeps the order of its calls',
    async run({ store }) {
      if (store.strategy !== 'lease' || store.inOrder !== true) return
      for (let round = 0; round < 20; round++) {
        const items = Array.from({ length: 5 }, () => newItem())
        const held = await Promise.all(items.map((item) => hold(store, item)))
        const marking = store.mark(held.map(({ claim: claimed }) => claimed))
        const answers = await claimAll(store, items)
        expect(answers.map(({ verdict }) => verdict)).toEqual(items.map(() => 'done'))
        expect(await marking).toEqual(items.map(() => 'marked'))
      }
    },
  },
  {
    name: 'accepts the mark of a lease that ran out while nobody took over',
    async run(harness) {
      const { item, ...abandoned } = await abandonNew(harness)
      expect(await harness.store.mark([abandoned.claim])).toEqual(['marked'])
      expect(await claim(harness.store, item, ALONE)).toMatchObject({ verdict: 'done' })
    },
  },
  {
    name: 'refuses to mark a claim that another owner has taken over, and leaves it to that owner',
    async run(harness) {
      const { item, ...abandoned } = await abandonNew(harness)
      const second = await harness.secondStore()
      const taken = await hold(second, item, ALONE)
      expect(await harness.store.mark([abandoned.claim])).toEqual(['refused-busy'])
      expect(await harness.store.mark([abandoned.claim])).toEqual(['refused-busy'])
      expect(await verdictOf(claim(harness.store, item, ALONE))).toBe('busy')
      expect(await second.mark([taken.claim])).toEqual(['marked'])
    },
  },
  {
    name: 'refuses to mark a claim that another owner has marked',
    async run(harness) {
      const { store } = harness
      const { item, ...abandoned } = await abandonNew(harness)
      const taken = await hold(store, item, ALONE)
      await store.mark([taken.claim])
      expect(await store.mark([abandoned.claim])).toEqual(['refused-done'])
      expect(await store.mark([taken.claim])).toEqual(['already-marked'])
    },
  },
  {
    name: 'refuses a mark that was never claimed',
    async run({ store }) {
      const { claim: claimed } = await hold(store, newItem())
      expect(await store.mark([forged(claimed)])).toEqual(['refused-busy'])
      expect(await store.mark([claimed])).toEqual(['marked'])
    },
  },
  {
    name: 'writes a late mark over a release: the effect did happen',
    async run({ store }) {
      const { item, claim: claimed } = await holdNew(store)
      await store.release([claimed], NO_REFUND)
      expect(await store.mark([claimed])).toEqual(['marked-late'])
      expect(await store.mark([claimed])).toEqual(['already-marked'])
      expect(await claim(store, item)).toMatchObject({ verdict: 'done' })
    },
  },
  {
    name: 'writes a late mark over the release of an owner that had taken over',
    async run(harness) {
      const { store } = harness
      const { item, ...abandoned } = await abandonNew(harness)
      const taken = await hold(store, item, ALONE)
      await store.release([taken.claim], NO_REFUND)
      expect(await store.mark([abandoned.claim])).toEqual(['marked-late'])
      expect(await claim(store, item)).toMatchObject({ verdict: 'done' })
    },
  },
  {
    name: 'writes a late mark over what was set aside',
    async run({ store }) {
      for (const as of ['given-up', 'parked'] as const) {
        const { item, claim: claimed } = await holdNew(store)
        await store.setAside([claimed], as, { reason: 'too early' })
        expect(await store.mark([claimed])).toEqual(['marked-late'])
        expect(await store.mark([claimed])).toEqual(['already-marked'])
        expect(await claim(store, item)).toMatchObject({ verdict: 'done' })
      }
    },
  },
  {
    name: 'ends doubt by a mark',
    async run(harness) {
      const { item } = await abandonNew(harness)
      const taken = await hold(harness.store, item, ALONE)
      expect(await harness.store.mark([taken.claim])).toEqual(['marked'])
      expect(await claim(harness.store, item)).toMatchObject({ verdict: 'done' })
    },
  },
  {
    name: 'writes a mark whose record the store has lost, and answers already-marked from then on',
    needs: 'loss',
    async run({ store, forget }) {
      const { item, claim: claimed } = await holdNew(store)
      await forget?.(item.key)
      expect(await store.mark([claimed])).toEqual(['marked-late'])
      expect(await store.mark([claimed])).toEqual(['already-marked'])
      expect(await claim(store, item)).toMatchObject({ verdict: 'done' })
      expect(await store.mark([forged(claimed)])).toEqual(['refused-done'])
    },
  },
  {
    name: 'starts again at the first fence and attempt once the store has lost a record [T33]',
    needs: 'loss',
    async run(harness) {
      const { store } = harness
      const { item, ...abandoned } = await abandonNew(harness)
      await hold(store, item, ALONE)
      await harness.forget?.(item.key)
      const anew = await hold(store, item)
      expect(anew).toMatchObject({ verdict: 'claimed', fence: 1, attempt: 1 })
      expect(await store.mark([abandoned.claim])).toEqual(['refused-busy'])
      expect(await store.mark([anew.claim])).toEqual(['marked'])
    },
  },
  {
    name: 'answers a batch of marks in its order, whatever their verdicts',
    async run(harness) {
      const { store } = harness
      const [fresh, marked, released] = await given(store, 'held', 'done', 'released')
      const [lost, beaten] = [newItem(), newItem()]
      const [lostClaim, beatenClaim] = [await abandon(harness, lost), await abandon(harness, beaten)]
      await hold(store, lost, ALONE)
      await store.mark([(await hold(store, beaten, ALONE)).claim])
      const batch = [beatenClaim, fresh, marked, lostClaim, released].map(({ claim: claimed }) => claimed)
      const again = ['refused-done', 'already-marked', 'already-marked', 'refused-busy', 'already-marked']
      expect(await store.mark(batch)).toEqual(again.with(1, 'marked').with(4, 'marked-late'))
      expect(await store.mark(batch)).toEqual(again)
    },
  },
]
