// Measure first: every message runs, and the report says what deduplication would have dropped. Then switch it on.
import assert from 'node:assert/strict'
// #region readme
import { defineConsumer, messageId, observedReport } from 'consume-once'

// #endregion
import { MemoryBroker, memoryStore, runMemory } from 'consume-once/memory'

const store = memoryStore()
const sent: string[] = []
const broker = new MemoryBroker()
const deliver = async (mode: 'observe' | 'enforce', ids: readonly string[]): Promise<void> => {
  const sms = smsIn(mode)
  for (const id of ids) broker.publish('sms', { value: Buffer.from(JSON.stringify({ id })), headers: { id } })
  const running = await runMemory(broker, sms, { topic: 'sms', group: 'sms' })
  await broker.drained('sms', 'sms')
  await running.stop()
}
// #region readme
const smsIn = (mode: 'observe' | 'enforce') =>
  defineConsumer({
    name: 'sms-sender',
    id: messageId.header('id'),
    store, // redisLease({ redis }), postgresLease({ pool }), mysqlLease({ pool })
    mode,
    handle: ({ payload }) => void sent.push((payload as { id: string }).id),
  })

await deliver('observe', ['sms-1', 'sms-2', 'sms-1']) // every delivery runs, as before
const report = await observedReport(smsIn('observe'), { group: 'sms' })
console.log(report?.counts.duplicate) // 1

await deliver('enforce', ['sms-2', 'sms-3']) // from now on duplicates are dropped, also those of observed messages
console.log(sent) // [ 'sms-1', 'sms-2', 'sms-1', 'sms-3' ]
// #endregion
assert.equal(report?.counts.duplicate, 1)
assert.deepEqual(sent, ['sms-1', 'sms-2', 'sms-1', 'sms-3'])
