import { describe, expect, it } from '@jest/globals'
import { assertLikeTransition } from '../../test/contract/store-model.ts'
import { mysqlLeaseHarness } from '../../test/mysql/lease-harness.ts'
import { describeMariadb } from '../../test/mysql/support.ts'
import { pgLeaseHarness } from '../../test/pg/lease-harness.ts'
import { describePostgres } from '../../test/pg/support.ts'

/** More of the random calls that `npm test` makes. */
describe.each([
  ['postgresLease', describePostgres, () => pgLeaseHarness(), 400],
  ['mysqlLease', describeMariadb, () => mysqlLeaseHarness(), 100],
] as const)('%s', (_name, describeOnServer, createHarness, numRuns) => {
  describeOnServer('beside transition()', () => {
    it('answers random calls of three owners and of people as it does, while time passes', async () => {
      const harness = await createHarness()
      try {
        const { store, age } = harness
        await expect(assertLikeTransition(store, { numRuns, age })).resolves.toBeUndefined()
      } finally {
        await harness.close()
      }
    }, 240_000)
  })
})
