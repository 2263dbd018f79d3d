import { memoryOffsetsHarness } from './memory-offsets.ts'
import { describeStoreContract } from './store-contract.ts'

describeStoreContract('the offsets of the tests', {
  strategy: 'offsets',
  createHarness: async () => memoryOffsetsHarness(),
  lacks: {
    digests: 'nothing else can lie at the same position',
    results: 'a position has no room for them',
    admin: 'not yet',
  },
})
