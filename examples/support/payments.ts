import assert from 'node:assert/strict'
import { Pool } from 'pg'
import { type Consumer } from 'consume-once'
import { MemoryBroker, runMemory } from 'consume-once/memory'
import { databaseUrl, ownName } from './servers.ts'

// The same few payments for each ORM, and what must be in the database after them.

export interface Payment {
  readonly payment: string
  readonly cents: number
}

/** A schema of its own with a table of charges, and a pool whose connections look there. */
export async function openCharges(): Promise<{ readonly pool: Pool; readonly schema: string; readonly url: string }> {
  const schema = ownName('orm')
  const url = new URL(databaseUrl())
  url.searchParams.set('options', `-c search_path=${schema}`)
  const pool = new Pool({ connectionString: url.href })
  await pool.query(`create schema ${schema}; create table charge (id serial primary key, payment text not null unique,
    cents int not null, at timestamptz not null default now())`)
  return { pool, schema, url: url.href }
}

/** Delivers p-1 three times, p-2 once, and p-3, which the handler refuses after it has written it. Ends pool and schema. */
export async function chargeAll(consumer: Consumer, { pool, schema }: { pool: Pool; schema: string }): Promise<void> {
  const broker = new MemoryBroker()
  const send = (payment: string, cents: number): void =>
    broker.publish('payments', {
      value: Buffer.from(JSON.stringify({ payment, cents })),
      headers: { 'payment-id': payment },
    })
  send('p-1', 1250)
  send('p-1', 1250)
  send('p-2', 300)
  send('p-3', 1_000_000)
  const running = await runMemory(broker, consumer, { topic: 'payments', group: schema })
  await broker.drained('payments', schema)
  send('p-1', 1250)
  await broker.drained('payments', schema)
  await running.stop()

  const { rows } = await pool.query<Payment>('select payment, cents from charge order by payment')
  assert.deepEqual(rows, [
    { payment: 'p-1', cents: 1250 },
    { payment: 'p-2', cents: 300 },
  ])
  assert.deepEqual(
    broker.deadLetters.map(({ detail }) => detail),
    // What an error repeats of its message stays out of letters and logs.
    ['over the limit: ***'],
  )
  console.log('5 messages, 2 charges; the charge of p-3 was written, refused and rolled back')
  await pool.query(`drop schema ${schema} cascade`)
  await pool.end()
}
