import { openedForEach } from '../kit/opened.ts'
import { describe, expect, it } from '@jest/globals'
import { describeStoreContract } from '../../testing/contract/store/contract.ts'
import { assertLikeTransition } from '../contract/store-model.ts'
import { mysqlLeaseHarness, type MysqlLeaseHarness } from './lease-harness.ts'
import { lentPlaces } from '../kit/lent-places.ts'
import { describeMariadb, newMysqlPlace } from './support.ts'

describeMariadb('mysqlLease', () => {
  const places = lentPlaces(() => newMysqlPlace())
  describeStoreContract(
    'mysqlLease',
    {
      strategy: 'lease',
      createHarness: () => mysqlLeaseHarness(places),
    },
    { describe, it },
  )

  describe('beside transition()', () => {
    let harness: MysqlLeaseHarness
    openedForEach(mysqlLeaseHarness, (made) => (harness = made))

    it('answers random calls of three owners and of people as it does, while time passes', async () => {
      const { store, age } = harness
      await expect(assertLikeTransition(store, { numRuns: 40, age })).resolves.toBeUndefined()
    }, 120_000)
  })
})
