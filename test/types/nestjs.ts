import type { Pool } from 'pg'
import { json, messageId, type StandardSchema } from 'consume-once'
import { memoryStore } from 'consume-once/memory'
import { HandleOnce, type ConsumeOnceModuleOptions, type HandleOnceOptions } from 'consume-once/nestjs'
import { postgresInbox } from 'consume-once/pg'

interface Sms {
  readonly smsId: string
}
declare const pool: Pool
declare const schema: StandardSchema<{ smsId: string; sentAt: string }, Sms & { sentAt: Date }>
const from = { topics: ['sms'], group: 'sms' }

export const accepted: readonly HandleOnceOptions[] = [
  { name: 'a', startWith: from, id: messageId.payload('/smsId'), decode: json<Sms>() },
  { name: 'a', startWith: from, decode: json<Sms>(), id: ({ payload }: { readonly payload: Sms }) => payload.smsId },
  { name: 'a', startWith: from, payloadSchema: schema },
  { name: 'a', startWith: from, store: postgresInbox({ pool }) },
  { name: 'a', startWith: from, store: memoryStore(), onInDoubt: 'park', maxAttempts: 3, observe: () => {} },
]

export const defaults: ConsumeOnceModuleOptions['defaults'] = { store: postgresInbox({ pool }), decode: json() }

// @ts-expect-error a consumer has a name
HandleOnce({ from })
// @ts-expect-error no option has this name
HandleOnce({ name: 'a', from, attempts: 3 })
