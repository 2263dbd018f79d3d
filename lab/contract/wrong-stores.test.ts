import { describe, expect, it } from '@jest/globals'
import { assertStoreLaw, storeLaws } from '../../testing/contract/store/contract.ts'
import { needsOf } from '../../testing/contract/law.ts'
import type { StoreHarness, StoreLaw } from '../../testing/contract/store/harness.ts'
import { mapHarness, MapStore } from '../../test/contract/map-store.ts'
import { memoryInboxHarness } from '../../test/contract/memory-inbox.ts'
import { memoryOffsetsHarness } from '../../test/contract/memory-offsets.ts'
import { WRONG_HISTORIES } from './wrong-histories.ts'
import { WRONG_INBOXES } from './wrong-inboxes.ts'
import { WRONG_OFFSETS } from './wrong-offsets.ts'
import { WRONG_BATCHES, WRONG_RECORDS, WRONG_STEPS } from '../../test/contract/wrong-stores.ts'

const ofLease = (createStore: () => MapStore): Promise<readonly Broken[]> =>
  brokenLaws(storeLaws.lease, async () => mapHarness(createStore()))

/** Laws of offsets without the capabilities that the store of the tests lacks. */
const ofOffsets = storeLaws.offsets.filter(
  (law) => !needsOf(law).some((need) => ['digests', 'results', 'admin'].includes(need)),
)

interface Broken {
  readonly law: string
  readonly message: string
}

/** Stores that must not pass, each with the laws that it breaks. */
const WRONG: readonly (readonly [string, () => Promise<readonly Broken[]>])[] = [
  ...Object.entries({ ...WRONG_STEPS, ...WRONG_RECORDS }).map(
    ([flaw, step]) => [`a lease that ${flaw}`, () => ofLease(() => new MapStore(step))] as const,
  ),
  ...Object.entries(WRONG_BATCHES).map(
    ([flaw, Wrong]) => [`a lease that ${flaw}`, () => ofLease(() => new Wrong())] as const,
  ),
  ...Object.entries(WRONG_HISTORIES).map(([flaw, create]) => [`a lease that ${flaw}`, () => ofLease(create)] as const),
  ...Object.entries(WRONG_INBOXES).map(
    ([flaw, Wrong]) =>
      [`an inbox that ${flaw}`, () => brokenLaws(storeLaws.inbox, async () => memoryInboxHarness(Wrong))] as const,
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
  const judged = new Map<string, Promise<readonly Broken[]>>()
  const lawsBrokenBy = (title: string, judge: () => Promise<readonly Broken[]>): Promise<readonly Broken[]> => {
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

  it('has no law that all wrong stores keep', async () => {
    const broken = await Promise.all(WRONG.map(([title, judge]) => lawsBrokenBy(title, judge)))
    const bitten = new Set(broken.flat().map(({ law }) => law))
    const laws = [...storeLaws.inbox, ...storeLaws.lease, ...storeLaws.offsets].map(({ name }) => name)
    expect(laws.filter((name) => !bitten.has(name))).toEqual([])
  })

  it('reports for each broken law what it expected and what it got', async () => {
    const broken = await Promise.all(WRONG.map(([title, judge]) => lawsBrokenBy(title, judge)))
    const unreadable = broken.flat().filter(({ message }) => !/^expected .+, got .+/.test(message))
    expect(unreadable).toEqual([])
  })
})

/** Laws that a store does not keep, with what they say of it. */
async function brokenLaws<H extends StoreHarness>(
  laws: readonly StoreLaw<H>[],
  createHarness: () => Promise<H>,
): Promise<readonly Broken[]> {
  const broken = await Promise.all(
    laws.map(async ({ name, ...law }): Promise<readonly Broken[]> => {
      try {
        await assertStoreLaw({ ...law, name }, createHarness)
        return []
      } catch (error) {
        return [{ law: name, message: (error as Error).message }]
      }
    }),
  )
  return broken.flat()
}
