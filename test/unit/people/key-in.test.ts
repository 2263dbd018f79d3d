import { expect, it } from '@jest/globals'
import { idempotencyKeyIn, keyIn } from '../../../src/people/key-in.ts'
import { identityOf } from '../../../src/identity/digest.ts'

const { key, idempotencyKey } = identityOf([Buffer.from('sms')], Buffer.from('order-17'))

it.each(['', '-0', '-12', '-charge', ':charge', '/receipt/2', '_refund', '.1', ' (retried)'])(
  'reads the key in an idempotency key with %j behind it, as a provider shows it',
  (behind) => {
    expect(keyIn(`${idempotencyKey}${behind}`)).toBe(key)
    expect(idempotencyKeyIn(`${idempotencyKey}${behind}`)).toBe(idempotencyKey)
  },
)

it('reads none in other text', () => {
  expect(keyIn(key)).toBe(key)
  for (const text of [
    'order-17',
    `${key}x`,
    `${idempotencyKey}x`,
    `${idempotencyKey}0-charge`,
    idempotencyKey.slice(1),
  ])
    expect(keyIn(text)).toBeUndefined()
})
