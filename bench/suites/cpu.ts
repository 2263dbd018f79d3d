import { lazily } from '../lazily.ts'
import type { Suite } from '../suite.ts'

const inMemory = lazily(() => import('../contenders/memory-store.ts'))

/** The library alone, on the memory store, beside a bare loop over the same messages. */
export const cpu: Suite = {
  name: 'cpu',
  scenarios: [
    {
      name: 'memory-store',
      title: 'memory broker and memory store, no-op handler',
      messages: 200_000,
      repetitions: 5,
      needs: [],
      contenders: [
        { name: 'bare loop', run: inMemory(({ bareLoop }) => bareLoop) },
        { name: 'library', run: inMemory(({ library }) => library) },
      ],
      ratios: [{ of: 'library', to: 'bare loop' }],
    },
  ],
}
