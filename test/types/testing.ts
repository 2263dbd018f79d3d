// The suites take the runners that people have, and what must not be written does not compile.

import * as jest from '@jest/globals'
import * as node from 'node:test'
import { defineConsumer, type Store } from 'consume-once'
import { memoryStore } from 'consume-once/memory'
import {
  assertStoreLaw,
  describeSourceContract,
  describeStoreContract,
  InboxDatabase,
  MemoryInbox,
  MemoryOffsets,
  OffsetsDatabase,
  sourceLaws,
  storeLaws,
  type InboxHarness,
  type LeaseHarness,
  type MemoryTx,
  type OffsetsHarness,
  type Runner,
  type SourceHarness,
} from 'consume-once/testing'

declare const lease: () => Promise<LeaseHarness>
declare const inbox: () => Promise<InboxHarness<MemoryTx>>
declare const offsets: () => Promise<OffsetsHarness<MemoryTx>>
declare const source: () => Promise<SourceHarness>

jest satisfies Runner
node satisfies Runner
/** What Mocha and Vitest have, as far as it is used. */
declare const mocha: {
  readonly describe: (title: string, fn: (this: object) => void) => { readonly title: string }
  readonly it: {
    (title: string, fn?: () => PromiseLike<unknown>): object
    skip(title: string, fn?: () => unknown): object
  }
}
mocha satisfies Runner

describeStoreContract('a', { strategy: 'lease', createHarness: lease, lacks: { loss: 'why' } }, node)
describeStoreContract('a', { strategy: 'inbox', createHarness: inbox }, jest)
describeStoreContract('a', { strategy: 'offsets', createHarness: offsets }, { describe: node.describe, it: node.it })
describeSourceContract('a', { createHarness: source }, node)
describeSourceContract('a', { createHarness: source, lacks: { keys: 'why' } }, node)
// @ts-expect-error nothing of the kind can be lacking
describeSourceContract('a', { createHarness: source, lacks: { speed: 'why' } }, node)

// @ts-expect-error no runner
describeStoreContract('a', { strategy: 'lease', createHarness: lease })
// @ts-expect-error an inbox must show what is committed
describeStoreContract('a', { strategy: 'inbox', createHarness: lease }, node)
// @ts-expect-error nothing of the kind can be lacking
describeStoreContract('a', { strategy: 'lease', createHarness: lease, lacks: { speed: 'why' } }, node)
// @ts-expect-error a reason, not a switch
describeStoreContract('a', { strategy: 'lease', createHarness: lease, lacks: { loss: true } }, node)

for (const law of storeLaws.lease) void assertStoreLaw(law, lease)
for (const law of storeLaws.inbox) void assertStoreLaw(law, inbox)
// @ts-expect-error laws of an inbox need its harness
for (const law of storeLaws.inbox) void assertStoreLaw(law, lease)
for (const law of sourceLaws) law.name satisfies string

new MemoryInbox() satisfies Store<MemoryTx>
new MemoryOffsets({ database: new OffsetsDatabase<number>() }) satisfies Store<MemoryTx<number>>
const lent = new MemoryInbox({
  database: new InboxDatabase<{ readonly text: string }>(),
  lendAs: (memory) => ({ query: (text: string) => memory.insert({ text }) }),
})
defineConsumer({ name: 'a', store: lent, handle: ({ tx }) => tx.query('insert into sent values (1)') })
// @ts-expect-error the tx is what lendAs makes
defineConsumer({ name: 'a', store: lent, handle: ({ tx }) => tx.insert('a') })
// @ts-expect-error a lease has no tx
defineConsumer({ name: 'a', store: memoryStore(), handle: ({ tx }) => tx })
// @ts-expect-error effects are what the database keeps
void new MemoryInbox({ database: new InboxDatabase<number>(), lendAs: (memory) => memory.insert('a') })
