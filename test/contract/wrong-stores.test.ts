import { describe, expect, it } from '@jest/globals'
import { adminLaws, leaseAdminLaws } from './admin-laws.ts'
import { commonLaws } from './common-laws.ts'
import type { InboxHarness, Law, LeaseHarness, OffsetsHarness, StoreHarness } from './harness.ts'
import { inboxAdminLaws } from './inbox-admin-laws.ts'
import { inboxLaws } from './inbox-laws.ts'
import { leaseLaws } from './lease-laws.ts'
import { mapHarness, MapStore } from './map-store.ts'
import { memoryInboxHarness } from './memory-inbox.ts'
import { memoryOffsetsHarness } from './memory-offsets.ts'
import { offsetsLaws } from './offsets-laws.ts'
import { resultLaws } from './result-laws.ts'
import { assertLaw } from './store-contract.ts'
import { WRONG_INBOXES } from './wrong-inboxes.ts'
import { WRONG_OFFSETS } from './wrong-offsets.ts'
import { WRONG_BATCHES, WRONG_STEPS } from './wrong-stores.ts'

const leases: readonly Law<LeaseHarness>[] = [
  ...commonLaws,
  ...resultLaws,
  ...adminLaws,
  ...leaseAdminLaws,
  ...leaseLaws,
]

const ofLease = (createStore: () => MapStore): Promise<readonly string[]> =>
  brokenLaws(leases, async () => mapHarness(createStore()))

const ofInbox: readonly Law<InboxHarness>[] = [
  ...commonLaws,
  ...resultLaws,
  ...adminLaws,
  ...inboxAdminLaws,
  ...inboxLaws,
]

/** Nothing of a message is compared where its position tells it, nor kept. */
const ofOffsets: readonly Law<OffsetsHarness>[] = [...commonLaws, ...inboxLaws, ...offsetsLaws].filter(
  ({ needs }) => needs !== 'digests' && needs !== 'results',
)

/** Stores that must not pass, each with the laws that it breaks. */
const WRONG: readonly (readonly [string, () => Promise<readonly string[]>])[] = [
  ...Object.entries(WRONG_STEPS).map(
    ([flaw, step]) => [`a lease that ${flaw}`, () => ofLease(() => new MapStore(step))] as const,
  ),
  ...Object.entries(WRONG_BATCHES).map(
    ([flaw, Wrong]) => [`a lease that ${flaw}`, () => ofLease(() => new Wrong())] as const,
  ),
  ...Object.entries(WRONG_INBOXES).map(
    ([flaw, Wrong]) =>
      [`an inbox that ${flaw}`, () => brokenLaws(ofInbox, async () => memoryInboxHarness(Wrong))] as const,
  ),
  ...Object.entries(WRONG_OFFSETS).map(
    ([flaw, Wrong]) =>
      [
        `a store of offsets that ${flaw}`,
        () => brokenLaws(ofOffsets, async () => memoryOffsetsHarness(Wrong)),
      ] as const,
  ),
]

describe('the contract of a store', () => {
  const judged = new Map<string, Promise<readonly string[]>>()
  const lawsBrokenBy = (title: string, judge: () => Promise<readonly string[]>): Promise<readonly string[]> => {
    const judgement = judged.get(title) ?? judge()
    judged.set(title, judgement)
    return judgement
  }

  it('is kept by the right lease, with all capabilities', async () => {
    expect(await ofLease(() => new MapStore())).toEqual([])
  })

  it.each(WRONG)('is broken by %s', async (title, judge) => {
    expect(await lawsBrokenBy(title, judge)).not.toEqual([])
  })

  it('has no law that every wrong store keeps', async () => {
    const broken = await Promise.all(WRONG.map(([title, judge]) => lawsBrokenBy(title, judge)))
    const laws = [...ofInbox, ...leases, ...offsetsLaws].map(({ name }) => name)
    expect(laws.filter((name) => !broken.flat().includes(name))).toEqual([])
  })
})

/** Names of the laws that a store does not keep. */
async function brokenLaws<H extends StoreHarness>(
  laws: readonly Law<H>[],
  createHarness: () => Promise<H>,
): Promise<readonly string[]> {
  const broken = await Promise.all(
    laws.map(async (law) => {
      const keeps = await assertLaw(law, createHarness).then(
        () => true,
        () => false,
      )
      return keeps ? [] : [law.name]
    }),
  )
  return broken.flat()
}
