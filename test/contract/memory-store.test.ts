import { describe, it } from '@jest/globals'
import type { Key, MessageRecord } from '../../src/core/record.ts'
import { memoryStore } from '../../src/memory/store.ts'
import type { LeaseHarness } from '../../testing/contract/store/harness.ts'
import { describeStoreContract } from '../../testing/contract/store/contract.ts'

describeStoreContract(
  'memory',
  {
    strategy: 'lease',
    createHarness: async (): Promise<LeaseHarness> => {
      let now = 1_000_000
      const records = new Map<Key, MessageRecord>()
      const store = memoryStore({ clock: { now: () => now }, records })
      return {
        store,
        secondStore: async () => store,
        advance: async (ms) => {
          now += ms
        },
        spoil: async (key) => void records.set(key, { state: 'unreadable', found: 'a list' }),
        close: async () => {},
      }
    },
    lacks: { loss: 'only the process loses it, with everything else' },
  },
  { describe, it },
)
