import { MemoryOffsets, OffsetsDatabase, type OffsetsTx } from '../support/memory-offsets.ts'
import type { OffsetsHarness } from './harness.ts'
import { keysAsStreams } from './keys-as-streams.ts'

export function memoryOffsetsHarness(Offsets: typeof MemoryOffsets = MemoryOffsets): OffsetsHarness<OffsetsTx> {
  const database = new OffsetsDatabase()
  return {
    store: keysAsStreams(new Offsets(database)),
    secondStore: async () => keysAsStreams(new Offsets(database)),
    write: (tx, effect) => tx.insert(effect),
    stall: (tx) => tx.stall(),
    fail: (tx) => tx.fail(),
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
