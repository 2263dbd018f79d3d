import { describe, it } from '@jest/globals'
import type { Key, MessageRecord } from '../../src/core/record.ts'
import { memorySequences } from '../../src/memory/sequences.ts'
import type { Store } from '../../src/ports/store.ts'
import type { LeaseHarness } from '../../testing/contract/store/harness.ts'
import { describeStoreContract } from '../../testing/contract/store/contract.ts'
import { numberedHarness, oneSource, ownSources } from './numbered-keys.ts'
import { describeSequences } from './sequence-laws.ts'

const LOSS = 'only the process loses it, with everything else'
const NUMBER_ENDS = 'a number is remembered as long as its source, which any mark of the source prolongs'

const CASES = [
  { name: 'memorySequences with a source for each message', numbering: ownSources, lacks: { loss: LOSS } },
  {
    name: 'memorySequences with one source',
    numbering: oneSource,
    lacks: { loss: LOSS, retention: NUMBER_ENDS },
  },
] as const

for (const { name, numbering, lacks } of CASES) {
  describeStoreContract(
    name,
    {
      strategy: 'lease',
      createHarness: async (): Promise<LeaseHarness> => {
        let now = 1_000_000
        const records = new Map<Key, MessageRecord>()
        const store = memorySequences({ clock: { now: () => now }, records, tail: 10_000 })
        const harness: LeaseHarness = {
          store,
          secondStore: async () => store,
          advance: async (ms) => {
            now += ms
          },
          spoil: async (key) => void records.set(key, { state: 'unreadable', found: 'a list' }),
          close: async () => {},
        }
        return numberedHarness(harness, numbering())
      },
      lacks,
    },
    { describe, it },
  )
}

describeSequences('memorySequences', async (options) => {
  const records = new Map<Key, MessageRecord>()
  const sources = new Map<string, { text: string; keepUntil: number }>()
  const open = async (): Promise<Store> => memorySequences({ ...options, records, sources })
  return {
    store: await open(),
    secondStore: open,
    count: async () => records.size + sources.size,
    plantSource: async (source, text) => void sources.set(source, { text, keepUntil: Infinity }),
    close: async () => {},
  }
})
