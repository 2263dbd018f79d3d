import { MemoryOffsets, type MemoryOffsetsOptions } from '../../testing/stores/memory-offsets.ts'
import type { MemoryTx } from '../../testing/stores/memory-transaction.ts'
import { OffsetsDatabase } from '../../testing/stores/offsets-database.ts'
import type { OffsetsHarness } from '../../testing/contract/store/harness.ts'
import { effectsIn } from './memory-inbox.ts'

export type OffsetsClass = new (options: MemoryOffsetsOptions) => MemoryOffsets

export function memoryOffsetsHarness(
  Offsets: OffsetsClass = MemoryOffsets,
  options: MemoryOffsetsOptions = {},
): OffsetsHarness<MemoryTx> {
  const database = new OffsetsDatabase()
  return {
    store: new Offsets({ ...options, database }),
    secondStore: async () => new Offsets({ ...options, database }),
    ...effectsIn(database),
    async move(stream, next) {
      const name = database.nameOf('contract/store', stream)
      const row = database.rows.get(name)
      if (row === undefined) throw new Error(`nothing is stored of ${stream}`)
      if (next === undefined) database.rows.delete(name)
      else database.rows.set(name, { ...row, next })
    },
    close: async () => {},
  }
}
