import { MemoryOffsets, type MemoryOffsetsOptions } from '../../testing/stores/memory-offsets.ts'
import type { MemoryTx } from '../../testing/stores/memory-transaction.ts'
import { OffsetsDatabase } from '../../testing/stores/offsets-database.ts'
import type { OffsetsHarness } from '../../testing/contract/store/harness.ts'

export type OffsetsClass = new (options: MemoryOffsetsOptions) => MemoryOffsets

export function memoryOffsetsHarness(
  Offsets: OffsetsClass = MemoryOffsets,
  options: MemoryOffsetsOptions = {},
): OffsetsHarness<MemoryTx> {
  const database = new OffsetsDatabase()
  return {
    store: new Offsets({ ...options, database }),
    secondStore: async () => new Offsets({ ...options, database }),
    write: (tx, effect) => tx.insert(effect),
    stall: (tx) => tx.stall(),
    fail: (tx) => tx.fail(),
    // Nothing that its handlers can say ends the transaction; what fails is as near as they come.
    evade: async (tx) => {
      await tx.fail().catch(() => {})
      return 'a query that fails'
    },
    committed: async (effect) => database.effects.filter((one) => one === effect).length,
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
