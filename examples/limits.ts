// A provider's quota: 50 SMS a second for each account, in turns, with its `Retry-After` obeyed.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
// #region readme
import { defineConsumer, json, messageId, OutcomeUnknownError, RetryLaterError } from 'consume-once'
import { memoryStore } from 'consume-once/memory'
// #endregion
import { MemoryBroker, runMemory } from 'consume-once/memory'

/** The stand-in for a provider. It is too busy for one request, and counts those that came too early after that. */
const sent: string[] = []
const times: number[] = []
let busyUntil = 0
let early = 0
const server = createServer((request, response) => {
  request.resume()
  if (request.url?.includes('acme') === true && sent.length === 3 && busyUntil === 0) {
    busyUntil = performance.now() + 1_000
    response.writeHead(429, { 'retry-after': '1' }).end()
    return
  }
  if (request.url?.includes('acme') === true && performance.now() < busyUntil) early++
  times.push(performance.now())
  sent.push(String(request.url))
  response.writeHead(202).end()
}).listen(0, '127.0.0.1')
await new Promise((resolve) => server.once('listening', resolve))
const provider = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

// #region readme

const sms = defineConsumer({
  name: 'sms-sender',
  id: messageId.payload('/smsId'),
  decode: json<{ smsId: string; account: string; to: string }>(),
  store: memoryStore(), // redisLease({ redis }) or postgresLease({ pool }) in production
  limit: { perSecond: 50, burst: 5, by: ({ headers }) => String(headers['account']) },
  handle: async ({ payload, idempotencyKey, signal }) => {
    const url = `${provider}/${payload.account}/sms/${idempotencyKey}`
    const response = await fetch(url, { method: 'PUT', body: payload.to, signal }).catch((cause: unknown) => {
      throw new OutcomeUnknownError('no answer from the provider', { cause }) // it may have been sent
    })
    if (response.status === 429) {
      const seconds = Number(response.headers.get('retry-after') ?? 1)
      throw new RetryLaterError({ afterMs: seconds * 1_000 }) // no attempt is spent, and others of the account wait too
    }
    if (!response.ok) throw new OutcomeUnknownError(`the provider failed: ${response.status}`)
  },
})
// #endregion

const broker = new MemoryBroker()
for (let n = 0; n < 30; n++) {
  const account = n % 3 === 0 ? 'quiet' : 'acme'
  const value = Buffer.from(JSON.stringify({ smsId: `sms-${n}`, account, to: '+15550100' }))
  broker.publish('sms', { value, headers: { account } })
}
const running = await runMemory(broker, sms, { topic: 'sms', group: 'sms' })
await broker.drained('sms', 'sms')
await running.stop()
server.close()
assert.equal(sent.length, 30)
assert.equal(new Set(sent).size, 30)
assert.equal(broker.deadLetters.length, 0)
// Calls that were under way when the provider said "later" are the only ones that may still come.
assert.ok(early <= 10, `${early} requests within Retry-After`)
console.log(`30 SMS of 2 accounts sent once each; the provider said "later" once, and no attempt was spent`)
