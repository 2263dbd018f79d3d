import { defineConsumer, json, messageId, type Settlement, type StandardSchema, type Store } from 'consume-once'
import { memoryStore } from 'consume-once/memory'

interface Sms {
  readonly notificationId: string
}
interface Tx {
  query(text: string): Promise<void>
}
declare const inbox: Store<Tx>
declare const anyStore: Store<unknown>
declare const schema: StandardSchema<{ notificationId: string; sentAt: string }, Sms & { sentAt: Date }>

export const consumers: readonly unknown[] = [
  // The payload has the type that `decode` gives.
  defineConsumer({
    name: 'a',
    store: memoryStore(),
    decode: json<Sms>(),
    id: (m) => m.payload.notificationId,
    handle: ({ payload }) => payload.notificationId,
  }),

  // With a schema: its input for the ID, its output for the handler.
  defineConsumer({
    name: 'a',
    store: memoryStore(),
    payloadSchema: schema,
    id: (m) => m.payload.sentAt,
    handle: ({ payload }) => payload.sentAt.getTime(),
  }),

  // Without either nobody knows.
  // @ts-expect-error the payload is unknown
  defineConsumer({ name: 'a', store: memoryStore(), handle: ({ payload }) => payload.notificationId }),

  // An inbox has a transaction and no fence.
  defineConsumer({
    name: 'a',
    store: inbox,
    id: messageId.header('id'),
    handle: async ({ tx }) => tx.query('select 1'),
  }),
  // @ts-expect-error an inbox has no fence
  defineConsumer({ name: 'a', store: inbox, handle: ({ fence }) => fence }),

  // A lease has a fence and no transaction.
  defineConsumer({ name: 'a', store: memoryStore(), handle: ({ fence }) => fence.toFixed() }),
  // @ts-expect-error a lease has no transaction
  defineConsumer({ name: 'a', store: memoryStore(), handle: ({ tx }) => tx }),

  // What is in doubt under a lease is told by the types; in a transaction nothing is.
  defineConsumer({ name: 'a', store: memoryStore(), onInDoubt: 'park', handle: () => {} }),
  defineConsumer({
    name: 'a',
    store: memoryStore(),
    onInDoubt: async ({ destination }, key) => (destination === key.trim() ? 'happened' : 'unknown'),
    handle: ({ fence }) => fence.toFixed(),
  }),
  // @ts-expect-error no such way
  defineConsumer({ name: 'a', store: memoryStore(), onInDoubt: 'parks', handle: () => {} }),
  // @ts-expect-error nothing is in doubt: leave it out
  defineConsumer({ name: 'a', store: inbox, onInDoubt: 'park', handle: () => {} }),
  // @ts-expect-error for a batch neither
  defineConsumer({ name: 'a', store: inbox, onInDoubt: 'rerun', handleBatch: () => {} }),
  // @ts-expect-error nobody is asked
  defineConsumer({ name: 'a', store: inbox, onInDoubt: () => 'happened' as const, handle: () => {} }),
  // A store that is found at run time may be a lease.
  defineConsumer({ name: 'a', store: anyStore, onInDoubt: 'park', handle: ({ tx }) => tx }),

  // A batch shares one transaction; its messages have none of their own.
  defineConsumer({
    name: 'a',
    store: inbox,
    decode: json<Sms>(),
    handleBatch: async ({ messages, tx }) => tx.query(String(messages[0]?.payload.notificationId)),
  }),
  // @ts-expect-error a lease has no transaction, for a batch neither
  defineConsumer({ name: 'a', store: memoryStore(), handleBatch: ({ tx }) => tx }),

  // Any result may be kept; what is thrown is unknown.
  defineConsumer({
    name: 'a',
    store: memoryStore(),
    rememberResult: true,
    rememberFailure: (error) => error instanceof RangeError,
    handle: () => ({ id: 7 }),
  }),
  // @ts-expect-error anything may have been thrown
  defineConsumer({ name: 'a', store: memoryStore(), rememberFailure: (error) => error.code === 7, handle: () => {} }),
  // @ts-expect-error the result of a batch is of none of its messages
  defineConsumer({ name: 'a', store: memoryStore(), rememberResult: true, handleBatch: () => {} }),
  // @ts-expect-error the failure of a batch neither
  defineConsumer({ name: 'a', store: memoryStore(), rememberFailure: () => true, handleBatch: () => {} }),

  // A busy message waits, for ever or for some time, or is handed back.
  defineConsumer({ name: 'a', store: memoryStore(), whenBusy: 'wait', handle: () => {} }),
  defineConsumer({ name: 'a', store: inbox, whenBusy: 'hand-back', handle: () => {} }),
  defineConsumer({ name: 'a', store: memoryStore(), whenBusy: { waitMs: 500 }, handle: () => {} }),
  // @ts-expect-error a call can be refused, a message cannot
  defineConsumer({ name: 'a', store: memoryStore(), whenBusy: 'refuse', handle: () => {} }),
  // @ts-expect-error a wait has a length
  defineConsumer({ name: 'a', store: memoryStore(), whenBusy: {}, handle: () => {} }),

  // Exactly one of the two.
  // @ts-expect-error handle and handleBatch exclude each other
  defineConsumer({ name: 'a', store: memoryStore(), handle: () => {}, handleBatch: () => {} }),
  // @ts-expect-error one of them is needed
  defineConsumer({ name: 'a', store: memoryStore() }),
]

declare const settlement: Settlement

export const told: readonly unknown[] = [
  settlement.failure?.message.trim(),
  // @ts-expect-error nobody knows what a handler returned once
  settlement.result.id,
]
