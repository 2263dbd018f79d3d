import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from '../expect.ts'
import type { TransactionAnswer, ClaimItem, Store } from '../../../src/ports/store.ts'
import { claim, claimAll, type Granted, grantedBy, hold, type HowToClaim, newDigest, newItem, only } from './claims.ts'
import { ALONE, holdMany, holdNew, NO_REFUND, REFUND } from './given.ts'
import type { InboxHarness, StoreLaw } from './harness.ts'

/** Rivals wait for an open transaction, or get `busy`; attempts outlive it. */
export const claimLaws: readonly StoreLaw<InboxHarness>[] = [
  {
    name: 'answers done to whoever waited for a claim that was marked',
    async run({ store, secondStore }) {
      const { item, claim: claimed } = await holdNew(store)
      const rival = answered(await secondStore(), item, ALONE)
      await expectWaiting(rival)
      expect(await store.mark([claimed])).toEqual(['marked'])
      expect(await rival).toMatchObject({ verdict: 'done' })
    },
  },
  {
    name: 'grants the key to whoever waited for a claim that was released, with the next attempt',
    async run({ store, secondStore }) {
      const { item, claim: claimed } = await holdNew(store)
      const second = await secondStore()
      const rival = answered(second, item, ALONE)
      await expectWaiting(rival)
      await store.release([claimed], NO_REFUND)
      const granted = grantedBy(await rival)
      expect(granted).toMatchObject({ verdict: 'claimed', attempt: 2 })
      expect(await second.mark([granted.claim])).toEqual(['marked'])
    },
  },
  {
    name: 'tells another payload of a key that is held from the same one only when it is known which is kept',
    needs: 'digests',
    async run({ store, secondStore }) {
      const item = newItem()
      const second = await secondStore()
      const other = { ...item, digest: newDigest() }
      const first = await hold(store, item, ALONE)
      const rival = answered(second, other, ALONE)
      await store.release([first.claim], REFUND)
      await second.release([grantedBy(await rival).claim], REFUND)
      const again = await hold(store, item, ALONE)
      const late = answered(second, other, ALONE)
      await store.mark([again.claim])
      expect(await late).toEqual({ verdict: 'conflict' })
    },
  },
  {
    name: 'sets a claim aside before those who wait for it, or refuses to',
    async run({ store, secondStore }) {
      const { item, claim: claimed } = await holdNew(store)
      const second = await secondStore()
      const rival = answered(second, item, ALONE)
      const [verdict] = await store.setAside([claimed], 'given-up', { reason: 'no' })
      const answer = await rival
      if ('claim' in answer) {
        expect(verdict).toBe('refused')
        expect(await second.mark([answer.claim])).toEqual(['marked'])
      } else {
        expect([verdict, answer]).toMatchObject(['given-up', { verdict: 'given-up', reason: 'no' }])
      }
    },
  },
  {
    name: 'does not set aside what another has claimed since the claim was released',
    async run({ store, secondStore }) {
      const { item, claim: released } = await holdNew(store)
      await store.release([released], NO_REFUND)
      const second = await secondStore()
      const { claim: claimed } = await hold(second, item, ALONE)
      // It may wait for the transaction of the other, and it may have no answer to give.
      const late = store.setAside([released], 'parked', { reason: 'late' }).then(only, () => 'refused')
      expect(await second.mark([claimed])).toEqual(['marked'])
      expect(await late).toBe('refused')
      expect(await claim(second, item, ALONE)).toMatchObject({ verdict: 'done' })
    },
  },
  {
    name: 'has one effect of a key, however many claim it at once [T9]',
    async run(harness) {
      const item = newItem()
      const stores = [harness.store, await harness.secondStore()]
      const verdicts = await Promise.all(
        [...stores, ...stores].map(async (store) => {
          const answer = await answered(store, item, ALONE)
          if ('claim' in answer) await handle(harness, store, [answer])
          return answer.verdict
        }),
      )
      expect(verdicts.toSorted()).toEqual(['claimed', 'done', 'done', 'done'])
      expect(await harness.committed(item.key)).toBe(1)
    },
  },
  {
    name: 'has one effect of each key, also where batches cross [T10]',
    async run(harness) {
      const items = Array.from({ length: 40 }, () => newItem())
      const second = await harness.secondStore()
      const rivals = [
        [harness.store, items],
        [second, items.toReversed()],
        [harness.store, items.slice(10, 30)],
      ] as const
      await Promise.all(rivals.map(([store, batch]) => handleBatch(harness, store, batch)))
      for (const { key } of items) expect(await harness.committed(key)).toBe(1)
      const answers = await claimAll(second, items)
      expect(new Set(answers.map(({ verdict }) => verdict))).toEqual(new Set(['done']))
    },
  },
  {
    name: 'keeps a key with an earlier attempt out of a batch, and out of its commit',
    async run(harness) {
      const { store } = harness
      const [before, tried, after] = [newItem(), newItem(), newItem()]
      await store.release([(await hold(store, tried)).claim], NO_REFUND)
      const answers = await claimAll(store, [before, tried, after])
      expect(answers.map(({ verdict }) => verdict)).toEqual(['claimed', 'again-alone', 'claimed'])
      await handle(harness, store, [grantedBy(answers[0]), grantedBy(answers[2])])
      const alone = await hold(store, tried, ALONE)
      expect(alone).toMatchObject({ verdict: 'claimed', attempt: 2 })
      await handle(harness, store, [alone])
      expect(await harness.committed(tried.key)).toBe(1)
    },
  },
  {
    name: 'leaves no record of a key that it kept out of a batch, however that batch is released',
    async run({ store }) {
      const tried = newItem()
      await store.release([(await hold(store, tried)).claim], NO_REFUND)
      for (const how of [REFUND, NO_REFUND, { ...NO_REFUND, delayMs: 0, cause: 'Error: no' }]) {
        const answers = await claimAll(store, [tried, newItem()])
        expect(answers.map(({ verdict }) => verdict)).toEqual(['again-alone', 'claimed'])
        expect(await store.release([grantedBy(answers[1]).claim], how)).toEqual(['released'])
        const alone = await hold(store, tried, ALONE)
        expect(alone).toMatchObject({ verdict: 'claimed', attempt: 2 })
        await store.release([alone.claim], REFUND)
      }
    },
  },
  {
    name: 'tells how many attempts are counted, counts none by that, and grants several such keys to who knows it',
    async run(harness) {
      const { store } = harness
      const items = [newItem(), newItem(), newItem()]
      const [once, twice] = items
      if (once === undefined || twice === undefined) throw new Error('expected items')
      for (const item of items) await store.release([(await hold(store, item)).claim], NO_REFUND)
      await store.release([(await hold(store, twice, ALONE)).claim], NO_REFUND)
      for (const fresh of [undefined, newItem()]) {
        const answers = await claimAll(store, fresh === undefined ? items : [...items, fresh])
        const told = answers.map((answer) => (answer.verdict === 'again-alone' ? answer.attempts : answer.verdict))
        expect(told).toEqual([1, 2, 1, ...(fresh === undefined ? [] : ['claimed'])])
        if (fresh !== undefined) await handle(harness, store, [grantedBy(answers[3])])
      }
      const granted = (await claimAll(store, items, ALONE)).map(grantedBy)
      expect(granted.map(({ attempt }) => attempt)).toEqual([2, 3, 2])
      await handle(harness, store, granted)
      for (const { key } of items) expect(await harness.committed(key)).toBe(1)
    },
  },
  {
    name: 'spends no attempt on a claim that was not granted',
    async run({ store, secondStore }) {
      const item = newItem()
      const second = await secondStore()
      const { claim: claimed } = await hold(store, item)
      const rival = answered(second, item, ALONE)
      await store.release([claimed], NO_REFUND)
      await second.release([grantedBy(await rival).claim], REFUND)
      for (const _ of [1, 2, 3]) expect(await claim(store, item)).toEqual({ verdict: 'again-alone', attempts: 1 })
      const next = await hold(store, item, ALONE)
      expect(next.attempt).toBe(2)
      await store.release([next.claim], NO_REFUND)
    },
  },
  {
    name: 'counts the attempts of every key of a batch, and gives them back together',
    async run({ store }) {
      const { items, claims } = await holdMany(store, 3)
      expect(await store.release(claims, REFUND)).toEqual(['released', 'released', 'released'])
      for (const [index, item] of items.entries()) {
        const granted = await hold(store, item, ALONE)
        expect([index, granted.attempt]).toEqual([index, 1])
        await store.release([granted.claim], NO_REFUND)
      }
      for (const item of items) {
        const granted = await hold(store, item, ALONE)
        expect(granted.attempt).toBe(2)
        await store.release([granted.claim], NO_REFUND)
      }
    },
  },
]

/** Asks again later after `busy`, as the pipeline does. */
async function answered<Tx>(store: Store<Tx>, item: ClaimItem, how: HowToClaim): Promise<TransactionAnswer<Tx>> {
  for (;;) {
    const answer = await claim(store, item, how)
    if (answer.verdict !== 'busy') return answer
    await sleep(20)
  }
}

async function expectWaiting(rival: Promise<unknown>): Promise<void> {
  expect(await Promise.race([rival, sleep(100, 'waiting')])).toBe('waiting')
}

/** One effect for each, with the name of its key. */
async function handle(harness: InboxHarness, store: Store<unknown>, granted: readonly Granted[]): Promise<void> {
  for (const { claim: claimed } of granted) {
    const lent = claimed.transaction?.lend()
    if (lent !== undefined) await harness.write(lent.tx, claimed.key)
    expect(lent?.revoke()).toBe(0)
  }
  const verdicts = await store.mark(granted.map(({ claim: claimed }) => claimed))
  expect(verdicts).toEqual(granted.map(() => 'marked'))
}

/** Handles the granted items, then claims the others again, alone, as the pipeline does. */
async function handleBatch(harness: InboxHarness, store: Store<unknown>, items: readonly ClaimItem[]): Promise<void> {
  const answers = await claimAll(store, items)
  const granted = answers.filter((answer): answer is Granted => 'claim' in answer)
  if (granted.length > 0) await handle(harness, store, granted)
  for (const [index, item] of items.entries()) {
    const { verdict } = answers[index] ?? {}
    if (verdict !== 'busy' && verdict !== 'again-alone') continue
    const answer = await answered(store, item, ALONE)
    if ('claim' in answer) await handle(harness, store, [answer])
  }
}
