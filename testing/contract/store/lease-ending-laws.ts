import { expect } from '../expect.ts'
import { abandon, claim, forged, hold, LONG_MS, newItem, SHORT_MS, verdictOf } from './claims.ts'
import type { LeaseHarness, StoreLaw } from './harness.ts'
import { ALONE, NO_REFUND, REFUND, IN_DOUBT, holdNew, abandonNew, given } from './given.ts'

/** Renewal, release and set-aside. */
export const endingLaws: readonly StoreLaw<LeaseHarness>[] = [
  {
    name: 'lets a renewal start the lease anew',
    async run({ store }) {
      const { item, claim: claimed } = await holdNew(store, { leaseMs: LONG_MS })
      expect(await store.renew([claimed], 10 * LONG_MS)).toEqual(['renewed'])
      const answer = await claim(store, item)
      expect('leaseLeftMs' in answer && answer.leaseLeftMs).toBeGreaterThan(LONG_MS)
    },
  },
  {
    name: 'renews a lease that ran out while nobody took over',
    async run(harness) {
      const { item, ...abandoned } = await abandonNew(harness)
      expect(await harness.store.renew([abandoned.claim], LONG_MS)).toEqual(['renewed'])
      expect(await verdictOf(claim(harness.store, item, ALONE))).toBe('busy')
    },
  },
  {
    name: 'renews nothing for a stranger, nor what is over, in the order of the batch',
    async run(harness) {
      const { store } = harness
      const [own, marked, released, setAside] = await given(store, 'held', 'done', 'released', 'parked')
      const { item, ...lost } = await abandonNew(harness)
      await hold(store, item, ALONE)
      const batch = [forged(own.claim), marked.claim, own.claim, released.claim, setAside.claim, lost.claim]
      const verdicts = ['lost', 'lost', 'renewed', 'lost', 'lost', 'lost']
      expect(await store.renew(batch, LONG_MS)).toEqual(verdicts)
      expect(await store.renew(batch, LONG_MS)).toEqual(verdicts)
    },
  },
  {
    name: 'lets nobody but the owner shorten a lease',
    async run({ store }) {
      const { item, claim: claimed } = await holdNew(store)
      expect(await store.renew([forged(claimed)], SHORT_MS)).toEqual(['lost'])
      const answer = await claim(store, item)
      expect('leaseLeftMs' in answer && answer.leaseLeftMs).toBeGreaterThan(LONG_MS / 2)
    },
  },
  {
    name: 'gives a released key to the next claim at once, without doubt',
    async run({ store, secondStore }) {
      const { item, ...first } = await holdNew(store)
      expect(await store.release([first.claim], NO_REFUND)).toEqual(['released'])
      const next = await hold(await secondStore(), item)
      expect(next).toMatchObject({ verdict: 'claimed', attempt: 2, fence: first.fence + 1 })
    },
  },
  {
    name: 'answers already-released to a release that is sent again, whatever it says the second time',
    async run({ store }) {
      const { item, claim: claimed } = await holdNew(store)
      expect(await store.release([claimed], NO_REFUND)).toEqual(['released'])
      for (const how of [NO_REFUND, REFUND]) expect(await store.release([claimed], how)).toEqual(['already-released'])
      expect(await hold(store, item)).toMatchObject({ verdict: 'claimed', attempt: 2 })
    },
  },
  {
    name: 'releases nothing for a stranger, a late owner or a mark, in the order of the batch',
    async run(harness) {
      const { store } = harness
      const [own, marked] = await given(store, 'held', 'done')
      const { item, ...late } = await abandonNew(harness)
      const taken = await hold(store, item, ALONE)
      const { claim: refunded } = await hold(store, newItem())
      const batch = [late.claim, forged(own.claim), refunded, marked.claim]
      expect(await store.release(batch, REFUND)).toEqual(['refused', 'refused', 'released', 'refused'])
      expect(await store.mark([own.claim, taken.claim, marked.claim])).toEqual(['marked', 'marked', 'already-marked'])
    },
  },
  {
    name: 'parks what is given up in doubt: nobody knows that no effect happened',
    async run(harness) {
      const { store } = harness
      const [taken, released] = [newItem(), newItem()]
      await abandon(harness, taken)
      await store.release([(await hold(store, released)).claim], IN_DOUBT)
      for (const item of [taken, released]) {
        const { claim: claimed } = await hold(store, item, ALONE)
        expect(await store.setAside([claimed], 'given-up', { reason: 'attempts-spent' })).toEqual(['parked'])
        expect(await store.setAside([claimed], 'given-up', { reason: 'attempts-spent' })).toEqual(['parked'])
        expect(await claim(store, item, ALONE)).toMatchObject({ verdict: 'parked', reason: 'attempts-spent' })
      }
    },
  },
  {
    name: 'sets nothing aside for a stranger, a late owner or what is over, in the order of the batch',
    async run(harness) {
      const { store } = harness
      const [own, marked, released] = await given(store, 'held', 'done', 'released')
      const { item, ...late } = await abandonNew(harness)
      const taken = await hold(store, item, ALONE)
      const { claim: poison } = await hold(store, newItem())
      const batch = [forged(own.claim), marked.claim, poison, released.claim, late.claim]
      const verdicts = ['refused', 'refused', 'given-up', 'refused', 'refused']
      expect(await store.setAside(batch, 'given-up', { reason: 'no' })).toEqual(verdicts)
      expect(await store.setAside(batch, 'given-up', { reason: 'no' })).toEqual(verdicts)
      expect(await store.mark([own.claim, taken.claim])).toEqual(['marked', 'marked'])
    },
  },
  {
    name: 'ends a claim by setting it aside: no release and no renewal brings it back',
    async run({ store }) {
      const { item, claim: claimed } = await holdNew(store)
      await store.setAside([claimed], 'parked', { reason: 'wait' })
      expect(await store.release([claimed], NO_REFUND)).toEqual(['refused'])
      expect(await store.renew([claimed], LONG_MS)).toEqual(['lost'])
      expect(await claim(store, item, { alone: true, token: claimed.token })).toMatchObject({
        verdict: 'parked',
        reason: 'wait',
      })
    },
  },
]
