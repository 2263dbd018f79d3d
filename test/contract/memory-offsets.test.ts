import { describe, it } from '@jest/globals'
import { MemoryOffsets } from '../../testing/stores/memory-offsets.ts'
import { memoryOffsetsHarness } from './memory-offsets.ts'
import { describeStoreContract } from '../../testing/contract/store/contract.ts'

for (const whenHeld of ['busy', 'wait'] as const) {
  describeStoreContract(
    `the offsets in memory (${whenHeld})`,
    {
      strategy: 'offsets',
      createHarness: async () => memoryOffsetsHarness(MemoryOffsets, { whenHeld }),
      lacks: {
        digests: 'nothing else can lie at the same position',
        results: 'a position has no room for them',
        admin: 'not yet',
      },
    },
    { describe, it },
  )
}
