import { describe, it } from '@jest/globals'
import { MemoryInbox } from '../../testing/stores/memory-inbox.ts'
import { memoryInboxHarness } from './memory-inbox.ts'
import { describeStoreContract } from '../../testing/contract/store/contract.ts'

for (const whenHeld of ['busy', 'wait'] as const) {
  describeStoreContract(
    `the inbox in memory (${whenHeld})`,
    {
      strategy: 'inbox',
      createHarness: async () => memoryInboxHarness(MemoryInbox, { whenHeld }),
      lacks: { unreadable: 'rows are objects of this process', savepoints: 'its handlers have no SQL' },
    },
    { describe, it },
  )
}
