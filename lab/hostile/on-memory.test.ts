import { describe } from '@jest/globals'
import { backends } from '../../test/kit/backends.ts'
import { describeCombination } from './combination.ts'
import { memoryStage } from './stages/memory.ts'
import { POSTGRES_INBOX, STORES } from './stores.ts'

describe('hostile inputs, brought by the broker in this process', () => {
  for (const store of STORES.filter(({ backend }) => backends.has(backend))) {
    describeCombination({ store, carrier: 'memory', openStage: memoryStage })
  }
  if (backends.has('postgres')) {
    describeCombination({ store: POSTGRES_INBOX, carrier: 'memory', openStage: memoryStage, handler: 'handleBatch' })
  }
})
