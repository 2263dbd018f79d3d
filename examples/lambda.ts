// Lambda functions for events of Amazon MSK and of Amazon MQ, called here with batches that Lambda delivers twice.
import assert from 'node:assert/strict'
import { amazonMqHandler, type KafkaEvent, type RabbitEvent } from 'consume-once/lambda'
// #region readme
import { defineConsumer, json, messageId } from 'consume-once'
import { memoryStore } from 'consume-once/memory'
import { mskHandler } from 'consume-once/lambda'

// #endregion
const sent: string[] = []
// #region readme
const sms = defineConsumer({
  name: 'sms-sender',
  id: messageId.header('message-id'),
  decode: json<{ to: string }>(),
  store: memoryStore(), // in production redisLease() or postgresInbox()
  handle: async ({ payload }) => void sent.push(payload.to),
})

const handler = mskHandler(sms, { group: 'sms', reportsFailures: true }) // export it from the module of your function
// #endregion

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const bytes = (text: string): number[] => [...Buffer.from(text)]
const context = { getRemainingTimeInMillis: () => 30_000 }
const value = base64('{"to":"+15550100"}')
const record = { topic: 'sms', partition: 0, offset: 15, value, headers: [{ 'message-id': bytes('sms-1') }] }
const kafkaEvent: KafkaEvent = { records: { 'sms-0': [record] } }
for (let delivery = 0; delivery < 2; delivery++) {
  assert.deepEqual(await handler(kafkaEvent, context), { batchItemFailures: [] })
}
await handler.stop()
assert.deepEqual(sent, ['+15550100'])

// #region mq
const mqHandler = amazonMqHandler(sms, { group: 'sms' })
// #endregion
const headers = { 'message-id': { bytes: bytes('sms-2') } }
const data = base64('{"to":"+15550101"}')
const mqEvent: RabbitEvent = { rmqMessagesByQueue: { 'sms::/': [{ basicProperties: { headers }, data }] } }
for (let delivery = 0; delivery < 2; delivery++) await mqHandler(mqEvent, context)
await mqHandler.stop()
console.log(sent) // [ '+15550100', '+15550101' ]
assert.deepEqual(sent, ['+15550100', '+15550101'])
