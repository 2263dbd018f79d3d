import { systemClock, type ClaimItem } from '../../../src/internal.ts'
import { expect } from '../expect.ts'
import {
  abandon,
  claim,
  claimAll,
  grantedBy,
  hold,
  leaseEnds,
  LONG_MS,
  newDigest,
  newItem,
  newToken,
  SHORT_MS,
  until,
  verdictOf,
} from './claims.ts'
import { abandonNew, ALONE, holdNew, IN_DOUBT, NO_REFUND, REFUND } from './given.ts'
import type { LeaseHarness, StoreLaw } from './harness.ts'

/** The length of a lease whose end the law waits for. */
const HELD_MS = 150

export const claimLaws: readonly StoreLaw<LeaseHarness>[] = [
  {
    name: 'answers busy to every other token while a lease holds, and for how long [T18]',
    async run({ store, secondStore }) {
      const item = newItem()
      await hold(store, item)
      for (const other of [store, await secondStore()]) {
        const answer = await claim(other, item, ALONE)
        if (answer.verdict !== 'busy') throw new Error(`expected busy, got ${answer.verdict}`)
        expect(answer.leaseLeftMs).toBeGreaterThan(LONG_MS / 2)
        expect(answer.leaseLeftMs).toBeAtMost(LONG_MS)
      }
    },
  },
  {
    name: 'lets no lease end sooner than its holder must think, who counts from before the call',
    async run(harness) {
      const { store } = harness
      const [claimed, renewed] = [newItem(), newItem()]
      const { claim: ofRenewed } = await hold(store, renewed, { leaseMs: LONG_MS })
      const rival = await harness.secondStore()
      for (const [item, ask] of [
        [claimed, () => hold(store, claimed, { leaseMs: HELD_MS })],
        [renewed, () => store.renew([ofRenewed], HELD_MS)],
      ] as const) {
        const askedAt = systemClock.monotonic()
        await ask()
        await harness.advance?.(HELD_MS - 1)
        let heldMs = 0
        await until(harness, 'the end of a lease', async () => {
          const { verdict } = await claim(rival, item)
          heldMs = systemClock.monotonic() - askedAt
          if (harness.advance !== undefined) expect(verdict).toBe('busy')
          return verdict !== 'busy' || harness.advance !== undefined
        })
        // Answers are in whole milliseconds.
        if (harness.advance === undefined) expect(heldMs).toBeGreaterThan(HELD_MS - 2)
      }
    },
  },
  {
    name: 'grants a key to one of many that claim it at once',
    async run(harness) {
      await expectOneOfMany(harness, newItem())
    },
  },
  {
    name: 'grants a released key to one of many that claim it at once',
    async run(harness) {
      const { item, claim: claimed } = await holdNew(harness.store)
      await harness.store.release([claimed], NO_REFUND)
      await expectOneOfMany(harness, item)
    },
  },
  {
    name: 'grants each key of crossing batches to one of them [T66]',
    async run({ store, secondStore }) {
      const items = Array.from({ length: 150 }, () => newItem())
      const backwards = items.toReversed()
      const [left, right] = await Promise.all([claimAll(store, items), claimAll(await secondStore(), backwards)])
      const ofRight = new Map(right.map((answer, index) => [backwards[index], answer.verdict]))
      for (const [index, item] of items.entries()) {
        expect([`${left[index]?.verdict}`, `${ofRight.get(item)}`].toSorted()).toEqual(['busy', 'claimed'])
      }
    },
  },
  {
    name: 'spends no attempt and no fence on claims that are not granted',
    async run(harness) {
      const { store } = harness
      const { item, ...first } = await holdNew(store)
      for (const _ of [1, 2, 3]) {
        expect(await verdictOf(claim(store, item))).toBe('busy')
        expect(await verdictOf(claim(store, { ...item, digest: newDigest() }))).toBe('conflict')
      }
      await store.renew([first.claim], SHORT_MS)
      await leaseEnds(harness, item)
      for (const _ of [1, 2, 3]) expect(await verdictOf(claim(store, item))).toBe('in-doubt')
      const next = await hold(store, item, ALONE)
      expect(next).toMatchObject({ attempt: 2, fence: first.fence + 1 })
    },
  },
  {
    name: 'gives each owner a higher fence than all before it',
    async run(harness) {
      const { store } = harness
      const { item, ...first } = await holdNew(store)
      await store.release([first.claim], REFUND)
      const second = await abandon(harness, item)
      const third = await hold(store, item, ALONE)
      await store.release([third.claim], NO_REFUND)
      const fourth = await hold(store, item, ALONE)
      const fences = [first, second, third, fourth].map(({ fence }) => fence)
      expect(fences).toEqual([1, 2, 3, 4])
      expect([second.attempt, third.attempt, fourth.attempt]).toEqual([1, 2, 3])
    },
  },
  {
    name: 'answers a claim that is sent again with the same grant, its lease started anew',
    async run({ store }) {
      const item = newItem()
      const token = newToken()
      const first = await hold(store, item, { token, leaseMs: SHORT_MS })
      for (const _ of [1, 2]) expect(await hold(store, item, { token, leaseMs: LONG_MS })).toEqual(first)
      const answer = await claim(store, item, ALONE)
      expect('leaseLeftMs' in answer && answer.leaseLeftMs).toBeGreaterThan(SHORT_MS)
    },
  },
  {
    name: 'answers a grant that is sent again after its lease with the same grant',
    async run(harness) {
      const item = newItem()
      const token = newToken()
      const first = await abandon(harness, item, { token })
      expect(await hold(harness.store, item, { token })).toEqual(first)
      expect(await verdictOf(claim(harness.store, item, ALONE))).toBe('busy')
    },
  },
  {
    name: 'answers in-doubt to a claim that is not alone once a lease has run out, and leaves it to its owner',
    async run(harness) {
      const { store } = harness
      const { item, ...abandoned } = await abandonNew(harness)
      expect(await claim(store, item)).toEqual({ verdict: 'in-doubt' })
      expect(await store.mark([abandoned.claim])).toEqual(['marked'])
    },
  },
  {
    name: 'gives a lease that has run out to a claim that is alone, as taken over [T19]',
    async run(harness) {
      const { item, ...abandoned } = await abandonNew(harness)
      const second = await harness.secondStore()
      const taken = await hold(second, item, ALONE)
      expect(taken).toMatchObject({ verdict: 'taken-over', attempt: 2, fence: abandoned.fence + 1 })
      expect(await verdictOf(claim(harness.store, item, ALONE))).toBe('busy')
    },
  },
  {
    name: 'answers a take-over that is sent again with taken-over once more',
    async run(harness) {
      const { item } = await abandonNew(harness)
      const again = { ...ALONE, token: newToken() }
      const first = await hold(harness.store, item, again)
      for (const _ of [1, 2]) expect(await hold(harness.store, item, again)).toEqual(first)
      expect(first.verdict).toBe('taken-over')
    },
  },
  {
    name: 'keeps doubt through a release, and through the next',
    async run(harness) {
      const { store } = harness
      const { item } = await abandonNew(harness)
      for (const _ of [1, 2, 3]) {
        const taken = await hold(store, item, ALONE)
        expect(taken.verdict).toBe('taken-over')
        await store.release([taken.claim], REFUND)
        expect(await claim(store, item)).toEqual({ verdict: 'in-doubt' })
      }
    },
  },
  {
    name: 'remembers the doubt that a release leaves',
    async run({ store }) {
      const { item, claim: claimed } = await holdNew(store)
      expect(await store.release([claimed], IN_DOUBT)).toEqual(['released'])
      expect(await claim(store, item)).toEqual({ verdict: 'in-doubt' })
      expect(await hold(store, item, ALONE)).toMatchObject({ verdict: 'taken-over', attempt: 2 })
    },
  },
  {
    name: 'answers conflict to another payload in every state, and leaves the record alone',
    async run(harness) {
      const { store } = harness
      const [live, ended, released, doubtful, givenUp, parked] = Array.from({ length: 6 }, () => newItem())
      const items = [live, ended, released, doubtful, givenUp, parked].filter((item) => item !== undefined)
      const claims = (await claimAll(store, items)).map((answer) => grantedBy(answer).claim)
      const [, endedClaim, releasedClaim, doubtfulClaim, givenUpClaim, parkedClaim] = claims.map((one) => [one])
      await store.renew(endedClaim ?? [], SHORT_MS)
      if (ended) await leaseEnds(harness, ended)
      await store.release(releasedClaim ?? [], NO_REFUND)
      await store.release(doubtfulClaim ?? [], IN_DOUBT)
      await store.setAside(givenUpClaim ?? [], 'given-up', { reason: 'no' })
      await store.setAside(parkedClaim ?? [], 'parked', { reason: 'wait' })
      for (const how of [ALONE, {}]) {
        const others = items.map(({ key }) => newItem({ key }))
        const answers = await claimAll(store, others, how)
        expect(answers).toEqual(items.map(() => ({ verdict: 'conflict' })))
      }
      const verdicts = (await claimAll(store, items)).map(({ verdict }) => verdict)
      expect(verdicts).toEqual(['busy', 'in-doubt', 'claimed', 'in-doubt', 'given-up', 'parked'])
    },
  },
  {
    name: 'grants the innocent keys of a batch that holds one in doubt',
    async run(harness) {
      const { store } = harness
      const [before, ended, live, after] = [newItem(), newItem(), newItem(), newItem()]
      await abandon(harness, ended)
      await hold(store, live)
      const answers = await claimAll(store, [before, ended, live, after])
      expect(answers.map(({ verdict }) => verdict)).toEqual(['claimed', 'in-doubt', 'busy', 'claimed'])
      expect([grantedBy(answers[0]).claim, grantedBy(answers[3]).claim]).toMatchObject([before, after])
    },
  },
]

async function expectOneOfMany({ store, secondStore }: LeaseHarness, item: ClaimItem): Promise<void> {
  const second = await secondStore()
  const rivals = Array.from({ length: 20 }, (_, index) => claim(index % 2 === 0 ? store : second, item, ALONE))
  const verdicts = (await Promise.all(rivals)).map(({ verdict }) => verdict)
  expect(verdicts.toSorted()).toEqual([...Array<string>(19).fill('busy'), 'claimed'])
}
