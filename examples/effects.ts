// An effect that cannot be rolled back: an SMS provider with an HTTP API. One answer is lost, one number is refused.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
// #region readme
import { defineConsumer, json, messageId, OutcomeUnknownError, RetryLaterError, TerminalError } from 'consume-once'
import { memoryStore } from 'consume-once/memory'
// #endregion
import { MemoryBroker, runMemory } from 'consume-once/memory'

/** The stand-in for a provider. It sends each key once, can be asked for a key, and loses its answer to the first request. */
const accepted = new Map<string, string>()
let answersToLose = 1
const server = createServer((request, response) => {
  const [, key = ''] = /^\/sms\/(.+)$/.exec(request.url ?? '') ?? []
  if (request.method === 'GET') {
    response.writeHead(accepted.has(key) ? 200 : 404).end()
    return
  }
  request.once('data', (body: Buffer) => {
    const { to } = JSON.parse(body.toString()) as { to: string }
    if (!to.startsWith('+')) {
      response.writeHead(422).end()
      return
    }
    accepted.set(key, to)
    if (answersToLose-- > 0) request.socket.destroy()
    else response.writeHead(202).end()
  })
}).listen(0, '127.0.0.1')
await new Promise((resolve) => server.once('listening', resolve))
const provider = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

// #region readme

const sms = defineConsumer({
  name: 'sms-sender',
  id: messageId.payload('/smsId'),
  decode: json<{ smsId: string; to: string }>(),
  store: memoryStore(), // redisLease({ redis }) or postgresLease({ pool }) in production
  handle: async ({ payload, idempotencyKey, signal }) => {
    const body = JSON.stringify({ to: payload.to })
    const response = await fetch(`${provider}/sms/${idempotencyKey}`, { method: 'PUT', body, signal }).catch(
      (cause: unknown) => {
        throw new OutcomeUnknownError('no answer from the provider', { cause }) // it may have been sent
      },
    )
    if (response.status >= 500) throw new OutcomeUnknownError(`the provider failed: ${response.status}`)
    if (response.status === 429) throw new RetryLaterError({ afterMs: 1_000 }) // nothing was sent: it is tried again
    if (!response.ok) throw new TerminalError(`refused for good: ${response.status}`) // to the dead letters
  },
  // In doubt: ask the provider. 'unknown' parks the message for a person.
  onInDoubt: async (_message, idempotencyKey) => {
    const { status } = await fetch(`${provider}/sms/${idempotencyKey}`)
    if (status === 200) return 'happened'
    return status === 404 ? 'did-not-happen' : 'unknown'
  },
})
// #endregion

const broker = new MemoryBroker()
for (const [smsId, to] of [
  ['sms-1', '+15550100'],
  ['sms-2', '+15550199'],
  ['sms-2', '+15550199'],
  ['sms-3', 'nowhere'],
]) {
  broker.publish('sms', { value: Buffer.from(JSON.stringify({ smsId, to })) })
}
const running = await runMemory(broker, sms, { topic: 'sms', group: 'sms' })
await broker.drained('sms', 'sms')
await running.stop()
server.close()
assert.deepEqual([...accepted.values()], ['+15550100', '+15550199'])
assert.deepEqual(
  broker.deadLetters.map(({ reason }) => reason),
  ['handler-failed'],
)
console.log('4 messages, 2 SMS; one answer was lost and the provider asked, one number was refused')
