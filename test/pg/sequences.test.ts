import { describe, expect, it } from '@jest/globals'
import { postgresSequences } from 'consume-once/pg'
import type { Store } from '../../src/ports/store.ts'
import { claim, newItem } from '../../testing/contract/store/claims.ts'
import { numberedKeys, ownSources } from '../contract/numbered-keys.ts'
import { describeSequences } from '../contract/sequence-laws.ts'
import { assertLikeTransition } from '../contract/store-model.ts'
import { backends } from '../kit/backends.ts'
import { lentPlaces } from '../kit/lent-places.ts'
import { openedForEach } from '../kit/opened.ts'
import { pgLeaseHarness, type PgLeaseHarness } from './lease-harness.ts'
import { newPlace } from './support.ts'

const describeOnPostgres = backends.has('postgres') ? describe : describe.skip

describeOnPostgres('postgresSequences', () => {
  const places = lentPlaces(() => newPlace())
  describeSequences('postgresSequences', async (sequences) => {
    const harness = await pgLeaseHarness({}, sequences, places)
    const { pool, schema } = harness.place
    return {
      ...harness,
      count: async () => Number((await pool.query(`select count(*) from ${schema}.lease`)).rows[0]?.count),
      plantSource: async (source, text) => {
        const key = Buffer.from(source, 'base64url')
        await pool.query(`update ${schema}.lease set rest = $2 where key = $1`, [key, text])
      },
    }
  })

  let harness: PgLeaseHarness
  openedForEach(
    () => pgLeaseHarness({}, {}, places),
    (made) => (harness = made),
  )

  it('answers random calls of three owners as transition() says, with a source for each key', async () => {
    const store: Store = numberedKeys(harness.store, ownSources())
    await expect(assertLikeTransition(store, { numRuns: 60, without: 'forget' })).resolves.toBeUndefined()
  }, 120_000)

  it('refuses a key without a number', async () => {
    await expect(claim(harness.store, newItem())).rejects.toMatchObject({ code: 'STORE_MISUSED' })
  })

  it('names all problems of its options', () => {
    expect(() => postgresSequences({ pool: harness.place.newPool(), tail: -1, onBehind: 'drop' as never })).toThrow(
      /tail: expected a whole number.*onBehind: expected/s,
    )
  })
})
