import { expect } from '../expect.ts'
import type { ClaimItem, Store } from '../../../src/ports/store.ts'
import { claim, hold, LONG_MS, newItem, SCOPE, until } from './claims.ts'
import type { LeaseHarness, StoreLaw } from './harness.ts'
import { viewOf } from './record-laws.ts'

/** A little more than what rounding and the delay of a call change of a time. */
const ROUNDED_MS = 100
/** Apart far enough to tell the time of a mark from the time of a claim. */
const APART_MS = 3 * ROUNDED_MS
/** The clocks of two processes, of which each may tell the time of its own mark. */
const CLOCKS_APART_MS = 5_000

async function marked(store: Store<unknown>): Promise<ClaimItem> {
  const item = newItem()
  expect(await store.mark([(await hold(store, item)).claim])).toEqual(['marked'])
  return item
}

async function markedAt(store: Store<unknown>, item: ClaimItem): Promise<number> {
  const answer = await claim(store, item)
  if (answer.verdict !== 'done') throw new Error(`expected done, got ${answer.verdict}`)
  if (answer.since === undefined) throw new Error('expected when it was marked, got nothing')
  return answer.since
}

function expectNear(got: number, expected: number, withinMs: number = ROUNDED_MS): void {
  expect(Math.abs(got - expected)).toBeAtMost(withinMs)
}

/** A duplicate says since when its message is done. For every store with a record for each key. */
export const markTimeLaws: readonly StoreLaw[] = [
  {
    name: 'tells every duplicate when its message was marked, in whatever process and however late it comes',
    needs: 'mark-times',
    async run(harness: LeaseHarness) {
      const { store, secondStore } = harness
      const item = await marked(store)
      const second = await secondStore()
      const [own, other] = [await markedAt(store, item), await markedAt(second, item)]
      expectNear(own, other, CLOCKS_APART_MS)
      await harness.advance?.(APART_MS)
      await until(harness, `a mark ${APART_MS} ms later to have a time so much later`, async () => {
        return (await markedAt(store, await marked(store))) >= own + APART_MS
      })
      expectNear(await markedAt(store, item), own)
      expectNear(await markedAt(second, item), other)
    },
  },
  {
    name: 'takes the decision of a person that a message is done for the time of its mark, and shows it',
    needs: ['admin', 'mark-times'],
    async run({ store }) {
      const [first, item] = [await marked(store), newItem()]
      await store.setAside([(await hold(store, item)).claim], 'parked', { reason: 'wait' })
      // Another retention than that of the claims.
      const why = { by: 'contract', reason: 'a law', retentionMs: 5 * LONG_MS }
      expect(await store.admin?.resolve(SCOPE, [item.key], { ...why, as: 'done' })).toEqual(['decided'])
      expectNear(await markedAt(store, item), await markedAt(store, first), CLOCKS_APART_MS)
      for (const one of [first, item]) {
        expectNear((await viewOf(store, one)).since ?? 0, await markedAt(store, one), CLOCKS_APART_MS)
      }
    },
  },
]
