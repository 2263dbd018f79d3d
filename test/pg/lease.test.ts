import { openedForEach } from '../kit/opened.ts'
import { describe, expect, it } from '@jest/globals'
import { describeStoreContract } from '../../testing/contract/store/contract.ts'
import { assertLikeTransition } from '../contract/store-model.ts'
import { pgLeaseHarness, type PgLeaseHarness } from './lease-harness.ts'
import { lentPlaces } from '../kit/lent-places.ts'
import { describePostgres, newPlace } from './support.ts'

describePostgres('postgresLease', () => {
  const places = lentPlaces(() => newPlace())
  const createHarness = (): Promise<PgLeaseHarness> => pgLeaseHarness({}, undefined, places)
  describeStoreContract('postgresLease', { strategy: 'lease', createHarness }, { describe, it })

  describe('beside transition()', () => {
    let harness: PgLeaseHarness
    openedForEach(createHarness, (made) => (harness = made))

    it('answers random calls of three owners and of people as it does, while time passes', async () => {
      const { store, age } = harness
      await expect(assertLikeTransition(store, { numRuns: 100, age })).resolves.toBeUndefined()
    }, 120_000)

    it('does so where each statement meets another connection, as behind a pooler that lends them by transaction', async () => {
      const { newLease, place, age } = harness
      const store = await newLease({ pool: place.newPool({ maxUses: 1 }) })
      await expect(assertLikeTransition(store, { numRuns: 10, age })).resolves.toBeUndefined()
    }, 120_000)
  })
})
