import { expect } from '../expect.ts'
import type { TransactionClaim, LentTransaction } from '../../../src/ports/store.ts'
import { failureOf, resultOf } from '../../../src/core/result.ts'
import { hasCode } from '../../../src/foundation/errors.ts'
import { claim, claimAll, grantedBy, hold, newItem, newName, only } from './claims.ts'
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
      const items = [newItem(), newItem()]
      const claims = (await claimAll(store, items)).map((answer) => grantedBy(answer).claim)
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
      const item = newItem()
      const { claim: claimed } = await hold(store, item)
      await store.release([claimed], { refund: true, doubt: false })
      expect(only(await store.mark([claimed], [FAILURE]))).toMatch(/^refused/)
      const again = await hold(store, item, { alone: true })
      expect(await store.mark([again.claim])).toEqual(['marked'])
    },
  },
]

function lend<Tx>(claimed: TransactionClaim<Tx>): LentTransaction<Tx> {
  if (claimed.transaction === undefined) throw new Error('expected a claim with a transaction')
  return claimed.transaction.lend()
}
