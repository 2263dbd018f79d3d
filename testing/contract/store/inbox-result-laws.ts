import { expect } from '../expect.ts'
import { failureOf, resultOf } from '../../../src/core/result.ts'
import { hasCode } from '../../../src/foundation/errors.ts'
import { claim, hold, newItem, newName, only } from './claims.ts'
import { ALONE, holdMany, holdNew, lend, REFUND } from './given.ts'
import type { InboxHarness, StoreLaw } from './harness.ts'

const FAILURE = failureOf({ name: 'Error', message: 'no such customer', code: 'UNKNOWN' })

/** A failure that is the answer is kept; the writes of its handler are not. */
export const inboxResultLaws: readonly StoreLaw<InboxHarness>[] = [
  {
    name: 'marks a failure without the effect of its handler, whatever became of its queries',
    needs: 'results',
    async run(harness) {
      const { store } = harness
      for (const hasFailed of [false, true]) {
        const [item, effect] = [newItem(), newName()]
        const { claim: claimed } = await hold(store, item)
        const lent = lend(claimed)
        await harness.write(lent.tx, effect)
        if (hasFailed) await harness.fail(lent.tx).catch(() => {})
        expect(lent.revoke()).toBe(0)
        expect(await store.mark([claimed], [FAILURE])).toEqual(['marked'])
        expect(await store.mark([claimed], [FAILURE])).toEqual(['already-marked'])
        expect(await harness.committed(effect)).toBe(0)
        expect(await claim(store, item)).toMatchObject({ verdict: 'done', result: FAILURE })
      }
    },
  },
  {
    name: 'refuses a failure among the claims of one transaction, which goes on',
    needs: 'results',
    async run(harness) {
      const { store } = harness
      const { claims } = await holdMany(store, 2)
      const [first] = claims
      if (first === undefined) throw new Error('expected two claims')
      const effect = newName()
      await harness.write(lend(first).tx, effect)
      const refused = await store.mark(claims, [resultOf(1), FAILURE]).catch((error: unknown) => error)
      expect(hasCode(refused, 'STORE_MISUSED')).toBe(true)
      expect(await store.mark(claims, [resultOf(1)])).toEqual(['marked', 'marked'])
      expect(await harness.committed(effect)).toBe(1)
    },
  },
  {
    name: 'never marks a failure of a claim that was released',
    needs: 'results',
    async run({ store }) {
      const { item, claim: claimed } = await holdNew(store)
      await store.release([claimed], REFUND)
      expect(only(await store.mark([claimed], [FAILURE]))).toMatch(/^refused/)
      const again = await hold(store, item, ALONE)
      expect(await store.mark([again.claim])).toEqual(['marked'])
    },
  },
]
