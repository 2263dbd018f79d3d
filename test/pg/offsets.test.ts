import { describe, it } from '@jest/globals'
import { describeStoreContract } from '../../testing/contract/store/contract.ts'
import { describePostgres, offsetsHarness } from './support.ts'

describePostgres('postgresOffsets', () => {
  describeStoreContract(
    'postgresOffsets',
    {
      strategy: 'offsets',
      createHarness: offsetsHarness,
      lacks: {
        digests: 'nothing else can lie at the same position',
        results: 'a position has no room for them',
        admin: 'not yet',
      },
    },
    { describe, it },
  )
})
