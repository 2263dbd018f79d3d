// Unit tests of consumers, on any runner: here `npx tsx --test`. No broker, no database, no mock of either.
// #region readme
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Pool } from 'pg'
import { defineConsumer, json, messageId, runInline } from 'consume-once'
import { memoryStore } from 'consume-once/memory'
import { postgresInbox, postgresOutbox } from 'consume-once/pg'
import { testConsumer, testMessage } from 'consume-once/testing'

// Your code: a consumer that writes through `tx` and publishes an event, and one that calls a provider.
const pool = new Pool() // the tests never connect it
const payments = defineConsumer({
  name: 'charge-account',
  decode: json<{ paymentId: string; cents: number }>(),
  id: ({ payload }) => payload.paymentId,
  store: postgresInbox({ pool, outbox: postgresOutbox({ pool, relay: false }) }),
  handle: async ({ payload, tx, publish }) => {
    await tx.query('insert into charges values ($1, $2)', [payload.paymentId, payload.cents])
    await publish({ topic: 'charged', value: payload.paymentId })
  },
})
const smsSender = (send: (to: string, idempotencyKey: string) => Promise<void>) =>
  defineConsumer({
    name: 'sms-sender',
    decode: json<{ to: string }>(),
    id: messageId.header('message-id'),
    store: memoryStore(),
    handle: ({ payload, idempotencyKey }) => send(payload.to, idempotencyKey),
  })

describe('whatever is delivered again', () => {
  it('charges each payment once, with one event', async () => {
    const messages = [{ payload: { paymentId: 'p-1', cents: 1250 } }, { payload: { paymentId: 'p-2', cents: 300 } }]
    const { published } = await testConsumer(payments, { messages })
    const events = published.map(({ place, value }) => `${place}: ${String(value)}`)
    assert.deepEqual(events, ['charged: p-1', 'charged: p-2'])
  })

  it('sends each SMS once', async () => {
    const sent = new Map<string, string>() // a provider that takes an idempotency key
    const sms = smsSender(async (to, key) => void sent.set(key, to))
    await testConsumer(sms, { messages: [{ id: 's-1', payload: { to: '+15550100' } }], effects: sent })
  })

  it('is found where a crash sends an SMS twice', async () => {
    const sent: string[] = [] // a provider that takes none
    const sms = smsSender(async (to) => void sent.push(to))
    const test = testConsumer(sms, { messages: [{ id: 's-1', payload: { to: '+15550100' } }], effects: sent })
    await assert.rejects(test, /crash after the effect: .* expected 1 effect, got 2/)
  })
})

it('handles one message', async () => {
  const running = runInline(
    smsSender(async () => {}),
    { group: 'sms' },
  )
  const { outcome } = await running.handle(testMessage({ id: 's-1', payload: { to: '+15550100' } }))
  assert.equal(outcome, 'handled')
  await running.stop()
})
// #endregion
