import { describe, expect, it } from '@jest/globals'
import { defineConsumer, json, messageId, OutcomeUnknownError, runInline, type HandlerContext } from 'consume-once'
import { memoryStore } from 'consume-once/memory'
import { MemoryInbox, testConsumer, testMessage } from 'consume-once/testing'

interface Payment {
  readonly id: string
  readonly cents: number
}
interface Tx {
  query(text: string, values?: readonly unknown[]): Promise<{ readonly rows: readonly unknown[] }>
}

const PAYMENTS = [1, 2, 3].map((number) => ({ payload: { id: `p-${number}`, cents: number } }))
const SMS = [{ id: 's-1', payload: { to: '+1' } }]

async function charge({ payload, tx }: HandlerContext<Payment, Tx>): Promise<void> {
  const { rows } = await tx.query('select 1')
  expect(rows).toEqual([])
  await tx.query('insert into charges values ($1, $2)', [payload.id, payload.cents])
}

function inbox(handle: (context: HandlerContext<Payment, Tx>) => unknown) {
  const store = new MemoryInbox<Tx>({ lendAs: () => ({ query: async () => ({ rows: [] }) }) })
  return defineConsumer({ name: 'charge', id: ({ payload }) => payload.id, decode: json<Payment>(), store, handle })
}

function lease(handle: (context: HandlerContext<{ readonly to: string }>) => unknown, more: object = {}) {
  const id = messageId.header('message-id')
  return defineConsumer({ name: 'sms', id, decode: json<{ to: string }>(), store: memoryStore(), handle, ...more })
}

function smsBy(id: ReturnType<typeof messageId.property>) {
  return defineConsumer({ name: 'sms', id, decode: json<{ to: string }>(), store: memoryStore(), handle: () => {} })
}

describe('testConsumer', () => {
  it('passes an effect that commits with its mark', async () => {
    await expect(testConsumer(inbox(charge), { messages: PAYMENTS })).resolves.toEqual({ published: [] })
  })

  it('passes a handler alone', async () => {
    const messages = PAYMENTS.map((message) => ({ ...message, id: message.payload.id }))
    await expect(testConsumer(charge, { messages })).resolves.toEqual({ published: [] })
  })

  it('passes a batch handler', async () => {
    const store = new MemoryInbox<Tx>({ lendAs: () => ({ query: async () => ({ rows: [] }) }) })
    const consumer = defineConsumer({
      name: 'charge',
      id: ({ payload }) => payload.id,
      decode: json<Payment>(),
      store,
      handleBatch: async ({ messages, tx }) => {
        for (const { payload } of messages) await tx.query('insert', [payload.id])
      },
    })
    await expect(testConsumer(consumer, { messages: PAYMENTS })).resolves.toEqual({ published: [] })
  })

  it('passes a provider that recognises the key', async () => {
    const sent = new Map<string, string>()
    const consumer = lease(({ payload, idempotencyKey }) => void sent.set(idempotencyKey, payload.to))
    await expect(testConsumer(consumer, { messages: SMS, effects: sent })).resolves.toEqual({ published: [] })
  })

  it('finds an SMS that a crash sends twice', async () => {
    const sent: string[] = []
    const consumer = lease(({ payload }) => void sent.push(payload.to))
    await expect(testConsumer(consumer, { messages: SMS, effects: sent })).rejects.toThrow(
      'testConsumer: crash after the effect: message {"to":"+1"}: expected 1 effect, got 2 (outside of tx, outside of tx). ' +
        "A process that dies after the effect runs the message again: give ctx.idempotencyKey to the provider, or set onInDoubt: 'park'",
    )
  })

  it('passes the same SMS where what is in doubt is parked', async () => {
    const sent: string[] = []
    const consumer = lease(({ payload }) => void sent.push(payload.to), { onInDoubt: 'park' })
    await expect(testConsumer(consumer, { messages: SMS, effects: sent })).resolves.toEqual({ published: [] })
  })

  it('finds an effect beside the transaction', async () => {
    const sent: string[] = []
    const consumer = inbox(async (context) => {
      await charge(context)
      sent.push(context.payload.id)
    })
    await expect(testConsumer(consumer, { messages: PAYMENTS, effects: sent })).rejects.toThrow(
      /crash after the effect: message \{"id":"p-1".*got 3 .*Only what is written through tx is rolled back/,
    )
  })

  it('finds a handler that depends on the order, and leaves that out on request', async () => {
    const state = { seen: 0 }
    const consumer = inbox(async ({ payload, tx }) => {
      if (payload.cents === 1) state.seen = 1
      if (payload.cents === 1 || payload.cents > state.seen) await tx.query('insert', [payload.id])
      state.seen = payload.cents
    })
    // Under one key, so that a crash changes no order.
    const messages = PAYMENTS.map((message) => ({ ...message, key: 'account' }))
    await expect(testConsumer(consumer, { messages })).rejects.toThrow(/out of order: .*expected 1 effect, got 0/)
    await expect(testConsumer(consumer, { messages, without: ['out of order'] })).resolves.toEqual({ published: [] })
  })

  it('says why a message does not get through', async () => {
    const consumer = lease(() => Promise.reject(new Error('no route')), { maxAttempts: 2 })
    await expect(testConsumer(consumer, { messages: SMS, effects: [] })).rejects.toThrow(
      /delivered once: a message was dead-lettered: .*no route/,
    )
    const lost = lease(() => Promise.reject(new OutcomeUnknownError('no answer')), { onInDoubt: 'park' })
    await expect(testConsumer(lost, { messages: SMS, effects: [] })).rejects.toThrow(/dead-lettered/)
  })

  it('says that it sees no effect', async () => {
    await expect(
      testConsumer(
        lease(() => {}),
        { messages: SMS },
      ),
    ).rejects.toThrow('no effect was seen')
  })

  it('waits for a handler that takes its time', async () => {
    const sent = new Map<string, string>()
    const consumer = lease(async ({ payload, idempotencyKey }) => {
      await new Promise((resolve) => void setTimeout(resolve, 5))
      sent.set(idempotencyKey, payload.to)
    })
    await expect(testConsumer(consumer, { messages: SMS, effects: sent })).resolves.toEqual({ published: [] })
  })

  it('gives the handler the rows that the test has', async () => {
    const seen: unknown[] = []
    const consumer = inbox(async ({ tx }) => {
      seen.push((await tx.query('select balance')).rows)
      await tx.query('insert')
    })
    await testConsumer(consumer, { messages: PAYMENTS.slice(0, 1), answers: () => ({ rows: [{ balance: 7 }] }) })
    expect(seen[0]).toEqual([{ balance: 7 }])
  })

  it.each([
    [{ messages: [] }, /messages: expected at least one/],
    [{ messages: SMS, effects: 7 }, /effects: expected an array, a Map or a Set/],
    [{ messages: SMS, without: ['rain'] }, /without\[0\]: expected "sent again"/],
    [{ messages: [{}] }, /payload: expected a payload/],
  ])('refuses %j', async (options, why) => {
    await expect(
      testConsumer(
        lease(() => {}),
        options as never,
      ),
    ).rejects.toThrow(why)
  })
})

describe('testMessage', () => {
  it('is what runInline takes, with the ID where producers put it', async () => {
    for (const [system, id] of [
      ['kafka', messageId.header('message-id')],
      ['rabbitmq', messageId.property()],
    ] as const) {
      const running = runInline(smsBy(id), { group: 'sms' })
      const message = testMessage({ payload: { to: '+1' }, id: 's-1', system })
      expect(await running.handle(message)).toMatchObject({ outcome: 'handled', settle: 'ack' })
      expect(await running.handle(message)).toMatchObject({ outcome: 'duplicate', settle: 'ack' })
      await running.stop()
    }
  })

  it('has bytes where clients of Kafka have them', () => {
    const kafka = testMessage({ payload: { a: 1 }, id: '1', key: 'k', headers: { tenant: 'acme' } })
    expect(kafka).toMatchObject({ destination: 'test', key: Buffer.from('k'), value: Buffer.from('{"a":1}') })
    expect(kafka.headers).toEqual({ 'message-id': Buffer.from('1'), tenant: Buffer.from('acme') })
    const rabbit = testMessage({
      payload: null,
      id: '1',
      system: 'rabbitmq',
      destination: 'sms',
      headers: { tenant: 'acme' },
    })
    expect(rabbit).toMatchObject({ messageId: '1', key: Buffer.from('sms'), value: null, headers: { tenant: 'acme' } })
    expect(testMessage({ payload: Buffer.from('raw') }).value).toEqual(Buffer.from('raw'))
  })

  it('refuses what is no message', () => {
    expect(() => testMessage({} as never)).toThrow(/payload: expected a payload/)
    expect(() => testMessage({ payload: 1, body: 1 } as never)).toThrow(/body/)
  })
})
