import { describe, expect, it } from '@jest/globals'
import { Pool } from 'pg'
import { defineConsumer, json, type HandlerContext } from 'consume-once'
import { memoryStore, MemoryBroker, runMemory } from 'consume-once/memory'
import { postgresInbox, postgresOutbox } from 'consume-once/pg'
import { InboxDatabase, MemoryInbox, MemoryOutbox, testConsumer } from 'consume-once/testing'

interface Payment {
  readonly id: string
  readonly cents: number
}
type Tx = { query(text: string, values?: readonly unknown[]): Promise<unknown> }
type Context = HandlerContext<Payment, Tx>

const PAYMENTS = [1, 2].map((cents) => ({ payload: { id: `p-${cents}`, cents } }))
const MESSAGES = PAYMENTS.map((message) => ({ ...message, id: message.payload.id }))

async function charge({ payload, tx, publish }: Context): Promise<void> {
  await tx.query('insert into charges values ($1)', [payload.id])
  await publish({ topic: 'charged', key: payload.id, value: JSON.stringify(payload), headers: { tenant: 'acme' } })
}

async function chargeAtLast(context: Context): Promise<void> {
  await charge(context)
  // The first message waits longest, so the other ones commit before it.
  if (context.attempt < (context.payload.cents === 1 ? 4 : 2)) throw new Error('after it was published')
}

describe('testConsumer with an outbox', () => {
  it('takes the consumer as it is deployed, and tells what it has published', async () => {
    // Nothing listens there.
    const pool = new Pool({ port: 1 })
    const outbox = postgresOutbox({ pool, relay: false })
    const consumer = defineConsumer({
      name: 'charge',
      id: ({ payload }) => payload.id,
      decode: json<Payment>(),
      store: postgresInbox({ pool, outbox }),
      handle: async ({ payload, tx, publish }) => {
        await tx.query('insert into charges values ($1)', [payload.id])
        await publish({
          topic: 'charged',
          key: payload.id,
          value: JSON.stringify(payload),
          headers: { tenant: 'acme' },
        })
      },
    })
    const { published } = await testConsumer(consumer, { messages: PAYMENTS })
    expect(published).toEqual(
      PAYMENTS.map(({ payload }) => ({
        system: 'kafka',
        place: 'charged',
        messageId: expect.stringMatching(/^.{10,}-0$/),
        key: Buffer.from(payload.id),
        value: Buffer.from(JSON.stringify(payload)),
        headers: { tenant: Buffer.from('acme') },
        by: expect.any(String),
      })),
    )
    await pool.end()
  })

  it('is had by a handler alone, and what it publishes is an effect', async () => {
    const { published } = await testConsumer<Payment, Tx>(
      async ({ payload, publish }) => {
        await publish({ routingKey: 'receipts', body: payload.id, messageId: `receipt-${payload.id}` })
      },
      { messages: MESSAGES },
    )
    expect(published).toMatchObject([
      {
        system: 'rabbitmq',
        place: 'receipts',
        messageId: 'receipt-p-1',
        key: null,
        value: Buffer.from('p-1'),
        headers: {},
      },
      { messageId: 'receipt-p-2' },
    ])
  })

  it('can be fed to the next consumer', async () => {
    const { published } = await testConsumer(charge, { messages: MESSAGES })
    const receipts: string[] = []
    const next = defineConsumer({
      name: 'receipts',
      decode: json<Payment>(),
      store: new MemoryInbox<Tx>({ lendAs: () => ({ query: async () => ({}) }) }),
      handle: async ({ payload, tx }) => {
        receipts.push(payload.id)
        await tx.query('insert')
      },
    })
    const messages = published.map(({ messageId, value }) => ({ id: messageId, payload: value }))
    await testConsumer(next, { messages })
    expect(receipts.slice(0, 2)).toEqual(['p-1', 'p-2'])
  })

  it('finds what is published for one run and not for another', async () => {
    const seen = new Set<string>()
    const handle = async ({ payload, tx, publish, attempt }: Context): Promise<void> => {
      await tx.query('insert into charges values ($1)', [payload.id])
      if (attempt === 1 || seen.has(payload.id)) await publish({ topic: 'charged', value: payload.id })
    }
    await expect(testConsumer(handle, { messages: MESSAGES })).rejects.toThrow(
      /crash before the effect: message \{"id":"p-1".*expected 2 effects, got 1 \(tx\.query.*\)/,
    )
  })

  it('keeps nothing of a run that fails', async () => {
    const { published } = await testConsumer(chargeAtLast, { messages: MESSAGES })
    expect(published.map(({ key }) => String(key))).toEqual(['p-1', 'p-2'])
  })

  it('refuses publish where the store of the consumer has no outbox', async () => {
    const store = new MemoryInbox<Tx>({ lendAs: () => ({ query: async () => ({}) }) })
    const consumer = defineConsumer<Payment, Payment, Tx>({
      name: 'charge',
      id: ({ payload }) => payload.id,
      decode: json<Payment>(),
      store,
      handle: charge,
    })
    await expect(testConsumer(consumer, { messages: PAYMENTS })).rejects.toThrow(/expected a store with an outbox/)
    const lease = defineConsumer({
      name: 'charge',
      decode: json<Payment>(),
      store: memoryStore(),
      handle: async ({ publish }) => void (await publish({ topic: 'charged', value: '' })),
    })
    await expect(testConsumer(lease, { messages: MESSAGES, effects: [] })).rejects.toThrow(/got a lease/)
  })
})

describe('MemoryInbox with an outbox', () => {
  it('has what was published with its effects, in the order of the commits, and nothing of what was rolled back', async () => {
    const database = new InboxDatabase()
    const outbox = new MemoryOutbox()
    const store = new MemoryInbox({ database, outbox })
    const consumer = defineConsumer({
      name: 'charge',
      id: ({ payload }) => payload.id,
      decode: json<Payment>(),
      store,
      handle: async ({ payload, tx, publish, attempt }) => {
        await tx.insert(payload.id)
        expect(await publish({ topic: 'charged', value: payload.id, messageId: payload.id })).toBe(payload.id)
        if (payload.cents === 1 && attempt === 1) throw new Error('after it was published')
      },
    })
    const broker = new MemoryBroker({ partitions: 1 })
    for (const { payload } of PAYMENTS) broker.publish('payments', { value: Buffer.from(JSON.stringify(payload)) })
    const running = await runMemory(broker, consumer, { topic: 'payments', group: 'payments' })
    await broker.drained('payments', 'payments')
    await running.stop()
    expect(outbox.published.map(({ messageId }) => messageId).toSorted()).toEqual(['p-1', 'p-2'])
    expect(outbox.published.map(({ messageId }) => messageId)).toEqual(database.effects)
  })

  it('refuses another outbox', () => {
    expect(() => new MemoryInbox({ outbox: {} as never })).toThrow(/outbox: expected a MemoryOutbox/)
  })

  it('refuses a message that no broker takes', async () => {
    await expect(
      testConsumer<Payment, Tx>(({ publish }) => publish({ value: 'no topic' } as never), { messages: MESSAGES }),
    ).rejects.toThrow(/publish: expected a topic/)
  })
})
