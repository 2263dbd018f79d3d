// Unit tests of a handler, on any runner: here `npx tsx --test`. No broker, no database, no mock of either.
// #region readme
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { defineConsumer, json, messageId, type HandlerContext } from 'consume-once'
import { MemoryBroker, runMemory } from 'consume-once/memory'
import { MemoryInbox, type MemoryTx } from 'consume-once/testing'

// Your code: a handler that writes through `tx`, and calls a provider.
interface Sms {
  readonly to: string
}
interface Tx {
  query(text: string, values: readonly unknown[]): Promise<unknown>
}
type Provider = (to: string, idempotencyKey: string) => Promise<void>

function smsHandler(provider: Provider) {
  return async ({ payload, tx, idempotencyKey }: HandlerContext<Sms, Tx>): Promise<void> => {
    await tx.query('insert into sent (phone) values ($1)', [payload.to])
    await provider(payload.to, idempotencyKey)
  }
}

/** Publishes to a consumer of that handler, waits until all is settled, and tells which queries were committed. */
async function committedAfter(provider: Provider, ids: readonly string[]): Promise<readonly unknown[]> {
  const inbox = new MemoryInbox({
    // What the handler gets as `tx`: here in the shape of pg.
    lendAs: (memory: MemoryTx<unknown>): Tx => ({ query: (text, values) => memory.insert({ text, values }) }),
  })
  const consumer = defineConsumer({
    name: 'sms-sender',
    id: messageId.header('message-id'),
    decode: json<Sms>(),
    store: inbox,
    maxAttempts: 3,
    backoff: { initialMs: 1, maxMs: 1 },
    handle: smsHandler(provider),
  })
  const broker = new MemoryBroker()
  const running = await runMemory(broker, consumer, { topic: 'sms', group: 'sms' })
  for (const id of ids) {
    broker.publish('sms', { value: Buffer.from('{"to":"+15550100"}'), headers: { 'message-id': id } })
  }
  await broker.drained('sms', 'sms')
  await running.stop()
  return inbox.database.effects
}

const insert = { text: 'insert into sent (phone) values ($1)', values: ['+15550100'] }

describe('the SMS handler', () => {
  it('writes once what was published three times', async () => {
    assert.deepEqual(await committedAfter(async () => {}, ['sms-1', 'sms-1', 'sms-1']), [insert])
  })

  it('writes nothing in an attempt that fails, and asks the provider again with the same key', async () => {
    const keys: string[] = []
    const shaky: Provider = async (_to, key) => {
      if (keys.push(key) === 1) throw new Error('502')
    }
    assert.deepEqual(await committedAfter(shaky, ['sms-1']), [insert])
    assert.equal(keys.length, 2)
    assert.equal(keys[0], keys[1])
  })
})
// #endregion
