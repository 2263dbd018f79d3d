import { expect } from '../expect.ts'
import { failureOf, resultOf } from '../../../src/core/result.ts'
import { claim, claimAll, hold, newItem } from './claims.ts'
import { ALONE, holdMany, holdNew } from './given.ts'
import type { StoreLaw } from './harness.ts'

/** Values that every handler may return, including some that a database may not accept. */
const RESULTS = [
  undefined,
  null,
  '',
  0,
  false,
  [],
  {},
  { a: [1, null] },
  'a|b\'"\\ \u0000 \ud800 ключ 🔑',
  'x'.repeat(60_000),
]

/** Results are kept with marks, and returned to every later claim. */
export const resultLaws: readonly StoreLaw[] = [
  {
    name: 'hands the result of a mark to every later claim, whatever it is',
    needs: 'results',
    async run({ store, secondStore }) {
      const second = await secondStore()
      for (const value of RESULTS) {
        const item = newItem()
        const result = resultOf(value)
        expect(await store.mark([(await hold(store, item)).claim], [result])).toEqual(['marked'])
        expect(await claim(store, item)).toMatchObject({ verdict: 'done', result })
        expect(await claim(second, item, ALONE)).toMatchObject({ verdict: 'done', result })
      }
    },
  },
  {
    name: 'keeps each result of a batch with its own mark, and none where there is none',
    needs: 'results',
    async run({ store }) {
      const { items, claims } = await holdMany(store, 3)
      const results = [resultOf('first'), undefined, resultOf('third')]
      expect(await store.mark(claims, results)).toEqual(['marked', 'marked', 'marked'])
      const answers = await claimAll(store, items)
      expect(answers.map((answer) => (answer.verdict === 'done' ? answer.result : answer))).toEqual(results)
    },
  },
  {
    name: 'keeps the first result of a mark that is sent again',
    needs: 'results',
    async run({ store }) {
      const { item, claim: claimed } = await holdNew(store)
      await store.mark([claimed], [resultOf(1)])
      expect(await store.mark([claimed], [resultOf(2)])).toEqual(['already-marked'])
      expect(await claim(store, item)).toMatchObject({ verdict: 'done', result: resultOf(1) })
    },
  },
  {
    name: 'keeps a failure as it keeps a result',
    needs: 'results',
    async run({ store }) {
      const item = newItem()
      const result = failureOf({ name: 'Error', message: 'no such customer', code: 'UNKNOWN' })
      expect(await store.mark([(await hold(store, item)).claim], [result])).toEqual(['marked'])
      expect(await claim(store, item)).toMatchObject({ verdict: 'done', result })
    },
  },
]
