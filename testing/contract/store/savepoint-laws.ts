import { expect } from '../expect.ts'
import { claim, claimAll, grantedBy, newItem, newName } from './claims.ts'
import { ALONE, holdMany, NO_REFUND } from './given.ts'
import type { InboxHarness, StoreLaw } from './harness.ts'
import type { LentTransaction } from '../../../src/ports/store.ts'

const BACK = { ...NO_REFUND, delayMs: 0 }

/** The savepoint to which a second handler rolls back. */
const STRANGERS = ['before_it', 'consume_once', 'consume_once_handler'] as const

/** The messages of a batch share a transaction, and their handlers run one after the other. */
export const savepointLaws: readonly StoreLaw<InboxHarness>[] = [
  ...STRANGERS.map((stranger): StoreLaw<InboxHarness> => ({
    name: `marks no message whose effect the handler of another one has undone: rollback to savepoint ${stranger}`,
    needs: 'savepoints',
    async run(harness) {
      const { store } = harness
      const items = [newItem(), newItem()]
      const effects = [newName(), newName()] as const
      const claims = (await claimAll(store, items)).map((answer) => grantedBy(answer).claim)
      const [first, second] = claims.map(({ transaction }) => transaction?.lend()) as Lent[]
      await run(harness, first, 'savepoint before_it', 'savepoint consume_once_handler')
      await harness.write(first?.tx, effects[0])
      first?.revoke()
      await run(harness, second, `rollback to savepoint ${stranger}`)
      await harness.write(second?.tx, effects[1]).catch(() => {})
      second?.revoke()
      const verdicts = await store.mark(claims).catch(() => [])
      const committed = await harness.committed(effects[0])
      if (verdicts[0] === 'marked') expect({ committed }).toEqual({ committed: 1 })
      else expect({ committed }).toEqual({ committed: 0 })
      if (verdicts.length === 0) await store.release(claims, BACK)
      for (const item of items) {
        const { verdict, ...next } = await claim(store, item, ALONE)
        expect(verdict).toBe(verdicts.length === 0 ? 'claimed' : 'done')
        if ('claim' in next) await store.release([next.claim], BACK)
      }
    },
  })),
  ...[['consume_once'], ['consume_once_handler'], ['consume_once', 'consume_once_handler']].map(
    (names): StoreLaw<InboxHarness> => ({
      name: `keeps nothing of a handler that fails behind savepoints of its own: ${names.join(', ')}`,
      needs: 'savepoints',
      async run(harness) {
        const { store } = harness
        const items = [newItem(), newItem()]
        const effects = [newName(), newName()] as const
        const claims = (await claimAll(store, items)).map((answer) => grantedBy(answer).claim)
        const [first, second] = claims.map(({ transaction }) => transaction?.lend()) as Lent[]
        await harness.write(first?.tx, effects[0])
        first?.revoke()
        await harness.write(second?.tx, effects[1])
        await run(harness, second, ...names.map((name) => `savepoint ${name}`))
        second?.revoke()
        expect(await store.release(claims, { ...BACK, refund: true })).toEqual(['released', 'released'])
        for (const effect of effects) expect(await harness.committed(effect)).toBe(0)
        for (const item of items) {
          const answer = await claim(store, item, ALONE)
          expect(answer).toMatchObject({ verdict: 'claimed', attempt: 1 })
          if ('claim' in answer) await store.release([answer.claim], BACK)
        }
      },
    }),
  ),
  {
    name: 'lets each handler of a transaction roll back to savepoints of its own, whatever their names',
    needs: 'savepoints',
    async run(harness) {
      const { store } = harness
      const { claims } = await holdMany(store, 3)
      const kept: string[] = []
      const undone: string[] = []
      for (const { transaction } of claims) {
        const lent = transaction?.lend()
        const [before, outer, inner, after] = [newName(), newName(), newName(), newName()]
        await harness.write(lent?.tx, before)
        await run(harness, lent, 'savepoint a')
        await harness.write(lent?.tx, outer)
        await run(harness, lent, 'savepoint b')
        await harness.write(lent?.tx, inner)
        await run(harness, lent, 'rollback to savepoint b', 'release savepoint b', 'rollback to savepoint a')
        await harness.write(lent?.tx, after)
        expect(lent?.revoke()).toBe(0)
        kept.push(before, after)
        undone.push(outer, inner)
      }
      expect(await store.mark(claims)).toEqual(['marked', 'marked', 'marked'])
      for (const effect of kept) expect(await harness.committed(effect)).toBe(1)
      for (const effect of undone) expect(await harness.committed(effect)).toBe(0)
    },
  },
]

type Lent = LentTransaction<unknown> | undefined

/** A handler that ignores the errors of its statements. */
async function run(harness: InboxHarness, lent: Lent, ...texts: readonly string[]): Promise<void> {
  if (harness.query === undefined)
    throw new Error('expected a harness that can query, got one that cannot: see lacks.savepoints')
  for (const text of texts) await harness.query(lent?.tx, text).catch(() => {})
}
