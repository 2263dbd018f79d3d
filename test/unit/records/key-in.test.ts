import { expect, it } from '@jest/globals'
import { idempotencyKeyIn, keyIn } from '../../../src/records/key-in.ts'
import { sequenceKey } from '../../../src/identity/sequence-key.ts'
import { identityOf } from '../../../src/identity/digest.ts'

const { key, idempotencyKey } = identityOf([Buffer.from('sms')], Buffer.from('order-17'))

it.each(['', '-0', '-12', '-charge', ':charge', '/receipt/2', '_refund', '.1', ' (retried)'])(
  'reads the key in an idempotency key with %j behind it, as a provider shows it',
  (behind) => {
    expect(keyIn(`${idempotencyKey}${behind}`)).toBe(key)
    expect(idempotencyKeyIn(`${idempotencyKey}${behind}`)).toBe(idempotencyKey)
  },
)

it('reads keys of sequences, and takes no UUID for one', () => {
  const numbered = sequenceKey(idempotencyKey, 17n)
  expect(numbered).toHaveLength(36)
  for (const behind of ['', '-0', '-charge', ':12345678901']) {
    expect(keyIn(`${numbered}${behind}`, 'sequences')).toBe(numbered)
    expect(idempotencyKeyIn(`${numbered}${behind}`, 'sequences')).toBe(numbered)
  }
  expect(keyIn(numbered)).toBe(numbered)
  expect([keyIn(numbered, 'ids'), keyIn(key, 'sequences'), keyIn(idempotencyKey, 'sequences')]).toEqual([
    undefined,
    undefined,
    undefined,
  ])
  expect(keyIn('550e8400-e29b-41d4-a716-446655440000')).toBeUndefined()
})

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
