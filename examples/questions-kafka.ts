// Two questions about Kafka: a handler that takes longer than the session timeout, and retries before a dead letter.
import assert from 'node:assert/strict'
import { Kafka, logLevel } from 'kafkajs'
import { setTimeout as wait } from 'node:timers/promises'
import { defineConsumer, json, messageId } from 'consume-once'
import { memoryStore } from 'consume-once/memory'
import { runKafka } from 'consume-once/kafkajs'
import { eventually, kafkaBrokers, ownName } from './support/servers.ts'

const reportTopic = ownName('reports')
const emailTopic = ownName('emails')
const setUp = new Kafka({ brokers: kafkaBrokers(), logLevel: logLevel.NOTHING })
const admin = setUp.admin()
await admin.connect()
await admin.createTopics({ topics: [{ topic: reportTopic }, { topic: emailTopic }] })
const producer = setUp.producer()
await producer.connect()
await producer.send({ topic: reportTopic, messages: [{ value: '{"reportId":"r-1"}' }] })
await producer.send({ topic: emailTopic, messages: [{ value: '{"emailId":"e-1"}' }, { value: '{"emailId":"e-2"}' }] })

const newKafka = (): Kafka => new Kafka({ brokers: kafkaBrokers(), logLevel: logLevel.NOTHING })
const store = memoryStore()
const built: string[] = []
const sent: string[] = []
/** Takes longer than the session timeout. */
async function build(reportId: string, signal: AbortSignal): Promise<void> {
  await wait(8_000, undefined, { signal })
  built.push(reportId)
}
/** Never takes e-1. */
async function send(emailId: string): Promise<void> {
  if (emailId === 'e-1') throw new Error('mailbox full')
  sent.push(emailId)
}

const kafka = newKafka()
// #region long
const reports = defineConsumer({
  name: 'report-builder',
  id: messageId.payload('/reportId'),
  decode: json<{ reportId: string }>(),
  store,
  handlerTimeoutMs: 15 * 60_000, // the longest that one report may take
  handle: ({ payload, signal }) => build(payload.reportId, signal),
})

const options = {
  topics: [reportTopic],
  group: 'reports',
  consumerConfig: { sessionTimeout: 6_000, heartbeatInterval: 2_000 },
}
const running = await runKafka(kafka, reports, options)
// #endregion
const kafkaOfEmails = newKafka()
let deadLetters = 0
// #region retry
const emails = defineConsumer({
  name: 'email-sender',
  id: messageId.payload('/emailId'),
  decode: json<{ emailId: string }>(),
  store,
  maxAttempts: 3,
  handle: ({ payload }) => send(payload.emailId),
  observe: (event) => {
    if (event.type === 'delivery' && event.outcome === 'dead-lettered') deadLetters++
  },
})

// After a failed attempt the message waits on a retry topic; the messages behind it go on.
const retry = { topics: [{ delayMs: 500 }, { delayMs: 2_000 }] }
const sending = await runKafka(kafkaOfEmails, emails, { topics: [emailTopic], group: 'emails', retry })
// #endregion
await eventually(async () => deadLetters === 1 && built.length > 0)
assert.deepEqual([built, sent], [['r-1'], ['e-2']])
await Promise.all([running.stop(), sending.stop()])
console.log('a handler longer than the session timeout ran once; a message that failed 3 times is a dead letter')

await producer.disconnect()
const own = (await admin.listTopics()).filter((name) => name.startsWith(reportTopic) || name.startsWith(emailTopic))
await admin.deleteTopics({ topics: own })
await admin.deleteGroups(['reports', 'emails'])
await admin.disconnect()
