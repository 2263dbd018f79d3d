import { memoryInboxHarness } from './memory-inbox.ts'
import { describeStoreContract } from './store-contract.ts'

describeStoreContract('the inbox of the tests', {
  strategy: 'inbox',
  createHarness: async () => memoryInboxHarness(),
})
