// A Lambda function for events of Amazon MSK, called here with a batch that Lambda delivers twice.
import assert from 'node:assert/strict'
// #region docs
import { defineConsumer, json, memoryStore, messageId } from 'consume-once'
import { mskHandler, type KafkaEvent } from 'consume-once/lambda'

const sent: string[] = []
const sms = defineConsumer({
  name: 'sms-sender',
  id: messageId.header('message-id'),
  decode: json<{ to: string }>(),
  store: memoryStore(), // in production redisLease() or postgresInbox()
  handle: async ({ payload }) => void sent.push(payload.to),
})

const handler = mskHandler(sms, { group: 'sms', reportsFailures: true }) // what the module of the function exports
// #endregion

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const record = {
  topic: 'sms',
  partition: 0,
  offset: 15,
  timestamp: Date.now(),
  value: base64('{"to":"+15550100"}'),
  headers: [{ 'message-id': [...Buffer.from('sms-1')] }],
}
const event: KafkaEvent = { records: { 'sms-0': [record] } }
const context = { getRemainingTimeInMillis: () => 30_000 }
for (let delivery = 0; delivery < 2; delivery++) {
  assert.deepEqual(await handler(event, context), { batchItemFailures: [] })
}
await handler.stop()
console.log(sent) // [ '+15550100' ]
assert.deepEqual(sent, ['+15550100'])
