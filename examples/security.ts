// IDs that only the own producer can make, and kept results that only the own processes can read.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { defineConsumer, once } from 'consume-once'
import { MemoryBroker, memoryStore, runMemory } from 'consume-once/memory'
// #region signed
import { messageId, signedId } from 'consume-once'

// #endregion
const secret = Buffer.from('0123456789abcdef0123456789abcdef')
const secretBefore = Buffer.from('fedcba9876543210fedcba9876543210')
// #region signed
const id = signedId({
  id: messageId.header('payment-id'),
  signature: messageId.header('payment-id-signature'), // HMAC-SHA-256 of the ID's bytes: raw, base64, base64url or hexadecimal
  secrets: [secret, secretBefore], // 16 bytes at least each; two while one is replaced by the other
})
// #endregion

const sign = (text: string, by: Uint8Array): string => createHmac('sha256', by).update(text).digest('base64url')
const handled = new Set<unknown>()
const store = memoryStore()
const payments = defineConsumer({
  name: 'payments',
  id,
  store,
  handle: ({ message }) => void handled.add(message.headers['payment-id']),
})
const broker = new MemoryBroker()
for (const [payment, signature] of [
  ['p-1', sign('p-1', secret)],
  ['p-2', sign('p-2', secretBefore)],
  ['p-3', sign('p-1', secret)], // somebody has copied the signature of another ID
]) {
  broker.publish('payments', {
    value: Buffer.from('{}'),
    headers: { 'payment-id': payment, 'payment-id-signature': signature },
  })
}
const running = await runMemory(broker, payments, { topic: 'payments', group: 'payments' })
await broker.drained('payments', 'payments')
await running.stop()
assert.deepEqual(handled, new Set(['p-1', 'p-2']))
assert.deepEqual(
  broker.deadLetters.map(({ reason }) => reason),
  ['no-id'],
)

// #region sealed
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

const sealResult = {
  seal: (text: string, key: string) => {
    const nonce = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', secret, nonce).setAAD(Buffer.from(key))
    const sealed = [cipher.update(text, 'utf8'), cipher.final()]
    return Buffer.concat([nonce, cipher.getAuthTag(), ...sealed]).toString('base64url')
  },
  open: (text: string, key: string) => {
    const sealed = Buffer.from(text, 'base64url')
    const decipher = createDecipheriv('aes-256-gcm', secret, sealed.subarray(0, 12)).setAAD(Buffer.from(key))
    decipher.setAuthTag(sealed.subarray(12, 28))
    return decipher.update(sealed.subarray(28), undefined, 'utf8') + decipher.final('utf8')
  },
}
// #endregion

let charges = 0
const pay = () => once(store, 'order-4711', async () => ({ receipt: `r-${++charges}` }), { sealResult })
const [first, second] = [await pay(), await pay()]
assert.deepEqual([first.result, second.result], [{ receipt: 'r-1' }, { receipt: 'r-1' }])
const kept = sealResult.seal('{"receipt":"r-1"}', 'key of order-4711')
assert.ok(!Buffer.from(kept, 'base64url').includes('receipt'))
assert.throws(() => sealResult.open(kept, 'key of another order'))
console.log('3 messages, 2 with a right signature; 1 charge, whose receipt is kept sealed')
