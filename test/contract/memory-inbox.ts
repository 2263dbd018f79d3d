import { InboxDatabase } from '../../testing/stores/inbox-database.ts'
import { MemoryInbox, type MemoryInboxOptions } from '../../testing/stores/memory-inbox.ts'
import type { MemoryTx } from '../../testing/stores/memory-transaction.ts'
import type { InboxHarness } from '../../testing/contract/store/harness.ts'

export type InboxClass = new (options: MemoryInboxOptions) => MemoryInbox

export function memoryInboxHarness(
  Inbox: InboxClass = MemoryInbox,
  options: MemoryInboxOptions = {},
): InboxHarness<MemoryTx> {
  const database = new InboxDatabase()
  return {
    store: new Inbox({ ...options, database }),
    secondStore: async () => new Inbox({ ...options, database }),
    ...effectsIn(database),
    close: async () => {},
  }
}

/** What handlers do in memory. Nothing that they can say ends the transaction; what fails is as near as they come. */
export function effectsIn({
  effects,
}: {
  readonly effects: readonly string[]
}): Pick<InboxHarness<MemoryTx>, 'write' | 'stall' | 'fail' | 'evade' | 'committed'> {
  return {
    write: (tx, effect) => tx.insert(effect),
    stall: (tx) => tx.stall(),
    fail: (tx) => tx.fail(),
    evade: async (tx) => {
      await tx.fail().catch(() => {})
      return 'a query that fails'
    },
    committed: async (effect) => effects.filter((one) => one === effect).length,
  }
}
