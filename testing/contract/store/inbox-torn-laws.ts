import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from '../expect.ts'
import type { TransactionClaim, TransactionAnswer, Store } from '../../../src/ports/store.ts'
import { claim, hold, newItem, newName, only } from './claims.ts'
import { ALONE, lend } from './given.ts'
import type { InboxHarness, StoreLaw } from './harness.ts'

/** What a handler does after it has tried to end the store's transaction and ignored the result. */
type Afterwards = 'throws' | 'is interrupted' | 'returns' | 'writes, then returns'

/** More than there are kinds of texts, so that most kinds come in several spellings. */
const TEXTS_EACH = 24

/** A handler ends the transaction that holds its mark, with any text. */
export const tornLaws: readonly StoreLaw<InboxHarness>[] = (
  ['throws', 'is interrupted', 'returns', 'writes, then returns'] as const
).map((afterwards) => ({
  name: `never has a mark without its effect where a handler tries to end the transaction by itself and ${afterwards}`,
  needs: 'texts',
  async run(harness) {
    const { store } = harness
    if (harness.evade === undefined) throw new Error('expected a harness that can evade')
    const second = await harness.secondStore()
    for (let n = 0; n < TEXTS_EACH; n++) {
      const [item, before, after] = [newItem(), newName(), newName()]
      const { claim: claimed } = await hold(store, item)
      const lent = lend(claimed)
      await harness.write(lent.tx, before)
      const text = await harness.evade(lent.tx, n)
      const effects = [before]
      if (afterwards === 'writes, then returns') {
        const isWritten = await harness.write(lent.tx, after).then(
          () => true,
          () => false,
        )
        if (isWritten) effects.push(after)
      }
      lent.revoke()
      const isMarked = await end(store, claimed, afterwards)
      const committed = await Promise.all(effects.map((effect) => harness.committed(effect)))
      const next = await asked(second, item)
      const seen = { text, isMarked, committed, verdict: next.verdict }
      if (isMarked) expect(seen).toEqual({ ...seen, committed: effects.map(() => 1), verdict: 'done' })
      // A commit that the store did not make is for a person to judge: it is unknown how much was committed.
      else expect(seen).toEqual({ ...seen, verdict: committed.some((times) => times > 0) ? 'parked' : 'claimed' })
      if ('claim' in next) await second.release([next.claim], { refund: false, doubt: false, delayMs: 0 })
    }
  },
}))

/** Ends the claim as the pipeline does. Returns whether it was marked. */
async function end(
  store: Store<unknown>,
  claimed: TransactionClaim<unknown>,
  afterwards: Afterwards,
): Promise<boolean> {
  if (afterwards === 'returns' || afterwards === 'writes, then returns') {
    const verdicts = await store.mark([claimed]).catch(() => undefined)
    if (verdicts !== undefined && only(verdicts) === 'marked') return true
  }
  await store.release([claimed], { refund: afterwards === 'is interrupted', doubt: false, delayMs: 0 })
  return false
}

async function asked<Tx>(store: Store<Tx>, item: ReturnType<typeof newItem>): Promise<TransactionAnswer<Tx>> {
  for (;;) {
    const answer = await claim(store, item, ALONE)
    if (answer.verdict !== 'busy') return answer
    await sleep(20)
  }
}
