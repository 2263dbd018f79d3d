import { expect } from '../expect.ts'
import { isMarked } from '../../../src/core/after-run.ts'
import { claim, claimAll, grantedBy, hold, newDigest, newItem, newToken, only } from './claims.ts'
import { ALONE, holdNew, NO_REFUND, REFUND, given } from './given.ts'
import type { StoreLaw } from './harness.ts'

const REASONS = [
  ['given-up', 'attempts-spent: |5|'],
  ['parked', `in-doubt: "ключ" 🔑\n'; drop table x -- ${'x'.repeat(900)}`],
] as const

/** Laws for every strategy. */
export const commonLaws: readonly StoreLaw[] = [
  {
    name: 'answers an empty batch with nothing',
    async run({ store }) {
      expect(await claimAll(store, [])).toEqual([])
      expect(await store.renew([], 1_000)).toEqual([])
      expect(await store.mark([])).toEqual([])
      expect(await store.release([], NO_REFUND)).toEqual([])
      expect(await store.setAside([], 'parked', { reason: 'nothing' })).toEqual([])
    },
  },
  {
    name: 'grants the first claim of a key as its first attempt',
    async run({ store }) {
      const item = newItem()
      const token = newToken()
      const granted = await hold(store, item, { token, retentionMs: 3_600_000 })
      expect(granted).toMatchObject({ verdict: 'claimed', attempt: 1 })
      expect(granted.claim).toMatchObject({ ...item, token, attempt: 1, fence: granted.fence, retentionMs: 3_600_000 })
      await store.release([granted.claim], NO_REFUND)
    },
  },
  {
    name: 'answers done once a claim is marked, to its own process and to others',
    async run({ store, secondStore }) {
      const { item, claim: claimed } = await holdNew(store)
      expect(await store.mark([claimed])).toEqual(['marked'])
      expect(await claim(store, item)).toMatchObject({ verdict: 'done' })
      expect(await claim(await secondStore(), item, ALONE)).toMatchObject({ verdict: 'done' })
    },
  },
  {
    name: 'takes a mark that is sent again for the same mark',
    async run({ store }) {
      const { item, claim: claimed } = await holdNew(store)
      await store.mark([claimed])
      expect(isMarked(only(await store.mark([claimed])))).toBe(true)
      expect(await claim(store, item)).toMatchObject({ verdict: 'done' })
    },
  },
  {
    name: 'lets a released key be claimed again, with one more attempt',
    async run({ store, secondStore }) {
      const item = newItem()
      for (const attempt of [1, 2, 3]) {
        const granted = await hold(store, item, ALONE)
        expect(granted).toMatchObject({ verdict: 'claimed', attempt })
        expect(await store.release([granted.claim], NO_REFUND)).toEqual(['released'])
      }
      const second = await secondStore()
      const fourth = await hold(second, item, ALONE)
      expect(fourth.attempt).toBe(4)
      await second.release([fourth.claim], NO_REFUND)
    },
  },
  {
    name: 'gives an attempt back where its handler never began',
    async run({ store }) {
      const item = newItem()
      for (const _ of [1, 2, 3]) {
        const granted = await hold(store, item, ALONE)
        expect(granted).toMatchObject({ verdict: 'claimed', attempt: 1 })
        await store.release([granted.claim], REFUND)
      }
    },
  },
  {
    name: 'gives an attempt back once, however often it is told to',
    async run({ store }) {
      const item = newItem()
      await store.release([(await hold(store, item, ALONE)).claim], NO_REFUND)
      await store.release([(await hold(store, item, ALONE)).claim], NO_REFUND)
      const { claim: third } = await hold(store, item, ALONE)
      for (const _ of [1, 2, 3]) await store.release([third], REFUND)
      const again = await hold(store, item, ALONE)
      expect(again.attempt).toBe(3)
      await store.release([again.claim], NO_REFUND)
    },
  },
  {
    name: 'answers conflict to another payload of a key that is done, and leaves the record alone',
    needs: 'digests',
    async run({ store }) {
      const [item] = await given(store, 'done')
      expect(await claim(store, { ...item, digest: newDigest() })).toEqual({ verdict: 'conflict' })
      expect(await claim(store, item)).toMatchObject({ verdict: 'done' })
    },
  },
  {
    name: 'takes two empty digests for the same payload',
    async run({ store }) {
      const item = newItem({ digest: '' })
      const first = await hold(store, item)
      expect(first.claim.digest).toBe('')
      await store.release([first.claim], NO_REFUND)
      await store.mark([(await hold(store, item, ALONE)).claim])
      expect(await claim(store, item)).toMatchObject({ verdict: 'done' })
    },
  },
  {
    name: 'compares an empty digest with no other, whichever of the two came first',
    async run({ store }) {
      const [first, second] = [newItem({ digest: '' }), newItem()]
      await store.mark([(await hold(store, first)).claim])
      await store.mark([(await hold(store, second)).claim])
      expect(await claim(store, { ...first, digest: newDigest() })).toMatchObject({ verdict: 'done' })
      expect(await claim(store, { ...second, digest: '' }, ALONE)).toMatchObject({ verdict: 'done' })
    },
  },
  {
    name: 'answers conflict to another payload where the kept one was given up or parked',
    needs: 'digests',
    async run({ store }) {
      for (const as of ['given-up', 'parked'] as const) {
        const [item] = await given(store, as)
        expect(await claim(store, { ...item, digest: newDigest() })).toEqual({ verdict: 'conflict' })
        expect(await claim(store, item)).toMatchObject({ verdict: as, reason: 'no luck' })
      }
    },
  },
  ...REASONS.map(([as, reason]): StoreLaw => ({
    name: `hands what was ${as === 'parked' ? as : 'given up'} to every later claim, with its reason`,
    async run({ store, secondStore }) {
      const { item, claim: claimed } = await holdNew(store)
      expect(await store.setAside([claimed], as, { reason })).toEqual([as])
      expect(await claim(store, item)).toMatchObject({ verdict: as, reason })
      expect(await claim(await secondStore(), item, ALONE)).toMatchObject({ verdict: as, reason })
    },
  })),
  {
    name: 'answers a set-aside that is sent again like the first',
    async run({ store }) {
      for (const as of ['given-up', 'parked'] as const) {
        const { item, claim: claimed } = await holdNew(store)
        expect(await store.setAside([claimed], as, { reason: 'first' })).toEqual([as])
        expect(await store.setAside([claimed], as, { reason: 'first' })).toEqual([as])
        expect(await claim(store, item)).toMatchObject({ verdict: as, reason: 'first' })
      }
    },
  },
  {
    name: 'renews what is held, and nothing that is over',
    async run({ store }) {
      const { claim: marked } = await hold(store, newItem())
      expect(await store.renew([marked], 60_000)).toEqual(['renewed'])
      await store.mark([marked])
      expect(await store.renew([marked], 60_000)).toEqual(['lost'])
      const { claim: released } = await hold(store, newItem())
      await store.release([released], NO_REFUND)
      expect(await store.renew([released], 60_000)).toEqual(['lost'])
    },
  },
  {
    name: 'answers a batch in its order, whatever its verdicts',
    async run({ store }) {
      const [done, givenUp, parked] = await given(store, 'done', 'given-up', 'parked')
      const [first, last] = [newItem(), newItem()]
      const answers = await claimAll(store, [first, parked, done, givenUp, last])
      expect(answers.map(({ verdict }) => verdict)).toEqual(['claimed', 'parked', 'done', 'given-up', 'claimed'])
      const claims = [grantedBy(answers[0]).claim, grantedBy(answers[4]).claim]
      expect(claims).toMatchObject([first, last])
      expect(await store.mark(claims)).toEqual(['marked', 'marked'])
    },
  },
  {
    name: 'takes more keys in one call than fit in one round trip',
    async run({ store, secondStore }) {
      const items = Array.from({ length: 450 }, () => newItem())
      const claims = (await claimAll(store, items)).map((answer) => grantedBy(answer).claim)
      expect(claims).toMatchObject(items)
      expect(new Set(await store.mark(claims))).toEqual(new Set(['marked']))
      const odd = items.map((item, index) => (index % 2 === 0 ? item : newItem()))
      const second = await secondStore()
      const answers = await claimAll(second, odd)
      expect(answers.map(({ verdict }) => verdict)).toEqual(
        odd.map((_, index) => (index % 2 === 0 ? 'done' : 'claimed')),
      )
      await second.release(
        answers.flatMap((answer) => ('claim' in answer ? [answer.claim] : [])),
        NO_REFUND,
      )
    },
  },
  {
    name: 'tells keys apart by every character [T91]',
    async run({ store }) {
      const items = [
        'aaaaaaaaaaaaaaaaaaaaaA',
        'AAAAAAAAAAAAAAAAAAAAAA',
        'aaaaaaaaaa_aaaaaaaaaaA',
        'aaaaaaaaaa-aaaaaaaaaaA',
      ]
      const answers = await claimAll(
        store,
        items.map((key) => newItem({ key })),
      )
      expect(answers.map(({ verdict }) => verdict)).toEqual(['claimed', 'claimed', 'claimed', 'claimed'])
      await store.mark(answers.map((answer) => grantedBy(answer).claim))
      const { verdict, claim: other } = await hold(store, newItem({ key: 'aaaaaaaaaaAaaaaaaaaaaA' }))
      expect(verdict).toBe('claimed')
      await store.release([other], NO_REFUND)
    },
  },
]
