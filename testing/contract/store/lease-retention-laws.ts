import { expect } from '../expect.ts'
import type { ClaimItem } from '../../../src/ports/store.ts'
import {
  claim,
  type Granted,
  hold,
  LONG_MS,
  newDigest,
  newItem,
  SHORT_MS,
  SHORT_RETENTION_MS,
  until,
} from './claims.ts'
import { ALONE, IN_DOUBT, NO_REFUND } from './given.ts'
import type { LeaseHarness, StoreLaw } from './harness.ts'

const BRIEF = { retentionMs: SHORT_RETENTION_MS, leaseMs: SHORT_MS }

/** Retention, which is separate from the lease. */
export const retentionLaws: readonly StoreLaw<LeaseHarness>[] = [
  {
    name: 'forgets what is done or given up with its retention, and starts again at the first fence [T133]',
    needs: 'retention',
    async run(harness) {
      const { store } = harness
      const [marked, givenUp] = [newItem(), newItem()]
      await store.mark([(await hold(store, marked, BRIEF)).claim])
      await store.setAside([(await hold(store, givenUp, BRIEF)).claim], 'given-up', { reason: 'no' })
      expect(await claim(store, marked, ALONE)).toMatchObject({ verdict: 'done' })
      for (const item of [marked, givenUp]) {
        expect(await retentionEnds(harness, item)).toMatchObject({ verdict: 'claimed', fence: 1, attempt: 1 })
      }
    },
  },
  {
    name: 'keeps what is parked for ever [T47]',
    needs: 'retention',
    async run(harness) {
      const { store } = harness
      const [parked, givenUp] = [newItem(), newItem()]
      await store.setAside([(await hold(store, parked, BRIEF)).claim], 'parked', { reason: 'wait' })
      await store.setAside([(await hold(store, givenUp, BRIEF)).claim], 'given-up', { reason: 'no' })
      await retentionEnds(harness, givenUp)
      expect(await claim(store, parked, ALONE)).toMatchObject({ verdict: 'parked', reason: 'wait' })
    },
  },
  {
    name: 'ends doubt and attempts with retention, and not with the lease',
    needs: 'retention',
    async run(harness) {
      const { store } = harness
      const [ended, released, doubtful] = [newItem(), newItem(), newItem()]
      await hold(store, ended, BRIEF)
      await store.release([(await hold(store, released, BRIEF)).claim], NO_REFUND)
      await store.release([(await hold(store, doubtful, BRIEF)).claim], IN_DOUBT)
      await harness.advance?.(SHORT_MS)
      await until(harness, 'in-doubt', async () => (await claim(store, ended)).verdict === 'in-doubt')
      for (const item of [ended, released, doubtful]) {
        expect(await retentionEnds(harness, item)).toMatchObject({ verdict: 'claimed', fence: 1, attempt: 1 })
      }
    },
  },
  {
    name: 'counts the retention of done from its mark, as long as the claim of the mark says',
    needs: 'retention',
    async run(harness) {
      const { store } = harness
      const [brief, long] = [newItem(), newItem()]
      const { claim: ofBrief } = await hold(store, brief, { retentionMs: 60 * LONG_MS })
      const { claim: ofLong } = await hold(store, long, BRIEF)
      await store.mark([
        { ...ofBrief, retentionMs: SHORT_RETENTION_MS },
        { ...ofLong, retentionMs: 60 * LONG_MS },
      ])
      await retentionEnds(harness, brief)
      expect(await claim(store, long)).toMatchObject({ verdict: 'done' })
    },
  },
]

/** Another payload is a conflict while there is a record, and does not change it. After that it is granted. */
async function retentionEnds(harness: LeaseHarness, { key }: ClaimItem): Promise<Granted> {
  await harness.advance?.(SHORT_RETENTION_MS)
  const stranger = newItem({ key, digest: newDigest() })
  let granted: Granted | undefined
  await until(harness, 'claimed', async () => {
    const answer = await claim(harness.store, stranger)
    if ('claim' in answer) granted = answer
    return granted !== undefined
  })
  if (granted === undefined) throw new Error('until() ended early (lease-retention-laws)')
  return granted
}
