// A provider without idempotency keys: after an unknown outcome nothing goes out again until a person decides.
import assert from 'node:assert/strict'
import { defineConsumer, json, OutcomeUnknownError } from 'consume-once'
import { MemoryBroker, memoryStore, runMemory } from 'consume-once/memory'

const sent: string[] = []

/** The stand-in for the provider. Its answer to Bob gets lost: the SMS is sent all the same. */
async function sendSms(to: string): Promise<void> {
  sent.push(to)
  if (to === 'bob') throw new Error('connection reset')
}

const outcomes: string[] = []

const sms = defineConsumer({
  name: 'sms-sender',
  id: ({ payload }) => payload.notificationId,
  decode: json<{ notificationId: string; to: string }>(),
  store: memoryStore(), // with real messages: redisLease({ redis }) or postgresLease({ pool })
  concurrency: 8, // a crash leaves at most so many in doubt
  onInDoubt: 'park',
  handle: async ({ payload }) => {
    try {
      await sendSms(payload.to)
    } catch (cause) {
      throw new OutcomeUnknownError('the provider did not answer', { cause }) // it may have sent the SMS
    }
  },
  observe: (event) => {
    if (event.type === 'delivery') outcomes.push(event.outcome)
  },
})

const broker = new MemoryBroker()
const publish = (notificationId: string, to: string): void => {
  broker.publish('sms', { value: Buffer.from(JSON.stringify({ notificationId, to })), headers: {} })
}
for (const to of ['ann', 'bob', 'ann', 'bob']) publish(`n-${to}`, to)
const running = await runMemory(broker, sms, { topic: 'sms', group: 'sms' })
await broker.drained('sms', 'sms')
publish('n-bob', 'bob') // sent again by its producer: still parked
await broker.drained('sms', 'sms')
await running.stop()

console.log(`sent to ${sent.join(' and ')}; ${outcomes.join(', ')}`)
assert.deepEqual(sent.toSorted(), ['ann', 'bob'])
assert.ok(broker.deadLetters.length >= 2 && broker.deadLetters.every(({ parked }) => parked))
