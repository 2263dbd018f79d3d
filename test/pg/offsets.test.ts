import { describe, it } from '@jest/globals'
import { describeStoreContract } from '../../testing/contract/store/contract.ts'
import { lentPlaces } from '../kit/lent-places.ts'
import { describePostgres, newPlace, offsetsHarness } from './support.ts'

describePostgres('postgresOffsets', () => {
  const places = lentPlaces(() => newPlace())
  describeStoreContract(
    'postgresOffsets',
    {
      strategy: 'offsets',
      createHarness: () => offsetsHarness(places),
      lacks: {
        digests: 'nothing else can lie at the same position',
        results: 'a position has no room for them',
        admin: 'not yet',
      },
    },
    { describe, it },
  )
})
