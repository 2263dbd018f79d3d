import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from '../expect.ts'
import type { TransactionClaim, Store } from '../../../src/ports/store.ts'
import { hasCode } from '../../../src/foundation/errors.ts'
import { claim, claimAll, grantedBy, hold, newItem, newName, only } from './claims.ts'
import { ALONE, holdMany, holdNew, lend, NO_REFUND, REFUND } from './given.ts'
import type { InboxHarness, StoreLaw } from './harness.ts'

/** Effects commit with the mark, and in no other way. */
export const effectLaws: readonly StoreLaw<InboxHarness>[] = [
  {
    name: 'commits the effect with its mark, once however often that is sent [T7]',
    async run(harness) {
      const { store } = harness
      const effect = newName()
      const { claim: claimed } = await hold(store, newItem())
      await harness.write(lend(claimed).tx, effect)
      expect(await store.mark([claimed])).toEqual(['marked'])
      expect(await harness.committed(effect)).toBe(1)
      await store.mark([claimed])
      expect(await harness.committed(effect)).toBe(1)
    },
  },
  {
    name: 'shows an effect to nobody before its mark [T77]',
    needs: 'parallel-transactions',
    async run(harness) {
      const { store } = harness
      const effect = newName()
      const { claim: claimed } = await hold(store, newItem())
      await harness.write(lend(claimed).tx, effect)
      expect(await harness.committed(effect)).toBe(0)
      await store.mark([claimed])
      expect(await harness.committed(effect)).toBe(1)
    },
  },
  {
    name: 'rolls the effect back with a release [T8]',
    async run(harness) {
      const { store } = harness
      const effect = newName()
      const { claim: claimed } = await hold(store, newItem())
      await harness.write(lend(claimed).tx, effect)
      expect(await store.release([claimed], NO_REFUND)).toEqual(['released'])
      expect(await harness.committed(effect)).toBe(0)
    },
  },
  {
    name: 'rolls the effect back with what is set aside, whose record stays',
    async run(harness) {
      const { store } = harness
      for (const as of ['given-up', 'parked'] as const) {
        const [item, effect] = [newItem(), newName()]
        const { claim: claimed } = await hold(store, item)
        await harness.write(lend(claimed).tx, effect)
        expect(await store.setAside([claimed], as, { reason: 'no' })).toEqual([as])
        expect(await harness.committed(effect)).toBe(0)
        expect(await claim(store, item)).toMatchObject({ verdict: as, reason: 'no' })
      }
    },
  },
  {
    name: 'commits the effects of a batch together',
    async run(harness) {
      const { store } = harness
      const { items, claims } = await holdMany(store, 3)
      for (const [index, claimed] of claims.entries()) {
        const lent = lend(claimed)
        await harness.write(lent.tx, `${items[index]?.key}`)
        expect(lent.revoke()).toBe(0)
      }
      expect(await store.mark(claims)).toEqual(['marked', 'marked', 'marked'])
      for (const { key } of items) expect(await harness.committed(key)).toBe(1)
    },
  },
  {
    name: 'commits what ran of a batch, and gives back what never began with its attempt, in one step',
    async run(harness) {
      const { store } = harness
      const { items, claims } = await holdMany(store, 4)
      const [ran, unbegun] = [claims.slice(0, 2), claims.slice(2)]
      for (const claimed of ran) {
        const lent = lend(claimed)
        await harness.write(lent.tx, claimed.key)
        lent.revoke()
      }
      claims[0]?.transaction.giveBack(unbegun)
      expect(await store.mark(ran)).toEqual(['marked', 'marked'])
      expect(await store.mark(ran)).toEqual(['already-marked', 'already-marked'])
      for (const { key } of ran) expect(await harness.committed(key)).toBe(1)
      // Not `alone`: nothing shows that they were ever claimed.
      const again = (await claimAll(store, items.slice(2))).map((answer) => grantedBy(answer))
      expect(again.map(({ attempt }) => attempt)).toEqual([1, 1])
      await store.release(
        again.map(({ claim: claimed }) => claimed),
        REFUND,
      )
      for (const item of items.slice(0, 2)) expect(await claim(store, item)).toMatchObject({ verdict: 'done' })
    },
  },
  {
    name: 'gives the attempt back of what never began or is named so, and of nothing else of a batch that is rolled back',
    async run(harness) {
      const { store } = harness
      const { items, claims } = await holdMany(store, 3)
      const [ended, running, unbegun] = claims
      if (ended === undefined || running === undefined || unbegun === undefined)
        throw new Error('expected three claims')
      await harness.write(lend(ended).tx, ended.key)
      ended.transaction.giveBack([unbegun])
      expect(await store.release([ended], REFUND)).toEqual(['released'])
      expect(await store.release([running], NO_REFUND)).toEqual(['released'])
      expect(await harness.committed(ended.key)).toBe(0)
      const again = await claimAll(store, items, ALONE)
      expect(again.map((answer) => grantedBy(answer).attempt)).toEqual([1, 2, 1])
      await store.release(
        again.map((answer) => grantedBy(answer).claim),
        REFUND,
      )
    },
  },
  {
    name: 'keeps the transactions of two claims apart [T78]',
    needs: 'parallel-transactions',
    async run(harness) {
      const { store } = harness
      const [kept, dropped] = [newItem(), newItem()]
      const [first, second] = [await hold(store, kept), await hold(store, dropped)]
      await harness.write(lend(first.claim).tx, kept.key)
      await harness.write(lend(second.claim).tx, dropped.key)
      expect(await store.mark([first.claim])).toEqual(['marked'])
      expect(await store.release([second.claim], NO_REFUND)).toEqual(['released'])
      expect(await harness.committed(kept.key)).toBe(1)
      expect(await harness.committed(dropped.key)).toBe(0)
      expect(await claim(store, kept)).toMatchObject({ verdict: 'done' })
      await drop(store, (await hold(store, dropped, ALONE)).claim)
    },
  },
  {
    // A server that reads all of a small table to find a few keys waits for the rows of others, and deadlocks.
    name: 'waits for no transaction but one that has its keys, also when it gives some of its own back',
    needs: 'parallel-transactions',
    async run({ store }) {
      const claimTwenty = async (): Promise<readonly TransactionClaim<unknown>[]> => {
        const items = Array.from({ length: 20 }, () => newItem())
        return (await claimAll(store, items)).map((answer) => grantedBy(answer).claim)
      }
      const open = await claimTwenty()
      const ending = await claimTwenty()
      ending[0]?.transaction.giveBack(ending.slice(10))
      const marked = store.mark(ending.slice(0, 10)).then((verdicts) => ({ verdicts, isFirst: true }))
      const tooLate = new AbortController()
      const late = sleep(3_000, { isFirst: false }, { signal: tooLate.signal })
      expect(await Promise.race([marked, late])).toMatchObject({ isFirst: true })
      tooLate.abort()
      await late.catch(() => undefined)
      expect(new Set((await marked).verdicts)).toEqual(new Set(['marked']))
      expect(new Set(await store.mark(open))).toEqual(new Set(['marked']))
    },
  },
  {
    // What a handler leaves would reach the handlers that share its transaction. A store may leave `isChanged` out.
    name: 'tells that a handler has changed the session of its transaction, and only then',
    needs: 'savepoints',
    async run(harness) {
      const { store } = harness
      const { claim: claimed } = await hold(store, newItem())
      const lent = lend(claimed)
      await harness.write(lent.tx, newName())
      expect(claimed.transaction.isChanged === true).toBe(false)
      await harness.query?.(lent.tx, 'create temporary table consume_once_of_a_handler (n int)')
      expect(claimed.transaction.isChanged === false).toBe(false)
      lent.revoke()
      await store.release([claimed], NO_REFUND)
    },
  },
  {
    name: 'never marks a claim that was released',
    async run({ store }) {
      const { item, claim: claimed } = await holdNew(store)
      await store.release([claimed], NO_REFUND)
      const verdicts = await store.mark([claimed]).catch(() => ['refused'])
      expect(only(verdicts)).toMatch(/^refused/)
      const next = await hold(store, item, ALONE)
      expect(next).toMatchObject({ verdict: 'claimed', attempt: 2 })
      await drop(store, next.claim)
    },
  },
  {
    name: 'refuses the queries of a transaction that was revoked, and keeps what was written before',
    async run(harness) {
      const { store } = harness
      const [before, after] = [newName(), newName()]
      const { claim: claimed } = await hold(store, newItem())
      const [lent, other] = [lend(claimed), lend(claimed)]
      await harness.write(lent.tx, before)
      expect(lent.revoke()).toBe(0)
      expect(lent.revoke()).toBe(0)
      expect(await refusal(() => harness.write(lent.tx, after))).toBe('TRANSACTION_OVER')
      await harness.write(other.tx, before)
      expect(other.revoke()).toBe(0)
      expect(await store.mark([claimed])).toEqual(['marked'])
      expect(await harness.committed(before)).toBe(2)
      expect(await harness.committed(after)).toBe(0)
    },
  },
  {
    name: 'refuses the queries of a transaction that is over',
    async run(harness) {
      const { store } = harness
      const effect = newName()
      for (const end of [
        store.mark.bind(store),
        (claims: readonly TransactionClaim<unknown>[]) => store.release(claims, NO_REFUND),
      ]) {
        const { claim: claimed } = await hold(store, newItem())
        const { tx } = lend(claimed)
        await end([claimed])
        expect(await refusal(() => harness.write(tx, effect))).toBe('TRANSACTION_OVER')
      }
      expect(await harness.committed(effect)).toBe(0)
    },
  },
  {
    name: 'refuses to commit while a query is pending, and commits nothing of it [T68]',
    async run(harness) {
      const { store } = harness
      for (const ending of ['release', 'set-aside'] as const) {
        const [item, effect] = [newItem(), newName()]
        const { claim: claimed } = await hold(store, item)
        const lent = lend(claimed)
        await harness.write(lent.tx, effect)
        const floating = harness.stall(lent.tx).catch(() => {})
        expect(lent.revoke()).toBe(1)
        expect(await refusal(() => store.mark([claimed]))).toMatch(/^(FLOATING_QUERY|COMMIT_REFUSED)$/)
        await drop(store, claimed, ending)
        await floating
        expect(await harness.committed(effect)).toBe(0)
        await expectGone(store, item, ending)
      }
    },
  },
  {
    name: 'refuses to commit what a handler wrote after a failed query that it swallowed',
    async run(harness) {
      const { store } = harness
      for (const ending of ['release', 'set-aside'] as const) {
        const [item, effect] = [newItem(), newName()]
        const { claim: claimed } = await hold(store, item)
        const lent = lend(claimed)
        await harness.write(lent.tx, effect)
        await harness.fail(lent.tx).catch(() => {})
        expect(lent.revoke()).toBe(0)
        expect(await refusal(() => store.mark([claimed]))).toBe('COMMIT_REFUSED')
        await drop(store, claimed, ending)
        expect(await harness.committed(effect)).toBe(0)
        await expectGone(store, item, ending)
      }
    },
  },
]

async function refusal(call: () => Promise<unknown>): Promise<string> {
  try {
    await call()
    return 'not refused'
  } catch (error) {
    const codes = ['TRANSACTION_OVER', 'FLOATING_QUERY', 'COMMIT_REFUSED'] as const
    return codes.find((code) => hasCode(error, code)) ?? String(error)
  }
}

async function drop(store: Store<unknown>, claimed: TransactionClaim<unknown>, ending = 'release'): Promise<void> {
  if (ending === 'release') expect(only(await store.release([claimed], NO_REFUND))).toMatch(/released$/)
  else expect(await store.setAside([claimed], 'given-up', { reason: 'no' })).toEqual(['given-up'])
}

async function expectGone(store: Store<unknown>, item: ReturnType<typeof newItem>, ending: string): Promise<void> {
  const answer = await claim(store, item, ALONE)
  if (ending === 'release') expect(answer).toMatchObject({ verdict: 'claimed', attempt: 2 })
  else expect(answer).toMatchObject({ verdict: 'given-up', reason: 'no' })
  if ('claim' in answer) await drop(store, answer.claim)
}
