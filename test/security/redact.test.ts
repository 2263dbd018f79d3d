import { describe, expect, it } from '@jest/globals'
import { describeError } from '../../src/errors.ts'
import { redacted } from '../../src/pipeline/redact.ts'
import type { Message } from '../../src/ports/message.ts'

const PAYLOAD = {
  to: '+447700900123',
  mail: 'alice@example.org',
  order: 'ORD-4711/b',
  amount: 129_900,
  text: 'Your parcel is with a neighbour.',
}

const MESSAGE: Message = {
  system: 'rabbitmq',
  destination: 'queue',
  origin: 'queue',
  position: '1',
  key: Buffer.from('shard-0042'),
  value: Buffer.from(JSON.stringify(PAYLOAD)),
  headers: {
    id: Buffer.from('9f1c2d3e-aaaa-4bbb-8ccc-0123456789ab'),
    'x-death': [{ queue: 'orders-2024' }],
    tries: 98_765,
  },
  messageId: 'sms-31337',
}

describe('what an error says of its message is told without', () => {
  it.each([
    ['a number of its payload', 'no such number +447700900123.', 'no such number +***.'],
    ['the same, as a handler wrote it', 'no such number 447700900123', 'no such number ***'],
    ['a number in a word of the handler', 'user447700900123x is unknown', 'user***x is unknown'],
    ['an address', 'no mailbox <alice@example.org>', 'no mailbox <***>'],
    ['an ID from a header', 'duplicate key (id)=(9f1c2d3e-aaaa-4bbb-8ccc-0123456789ab)', 'duplicate key (id)=(***)'],
    ['the message ID', 'sms-31337 failed', '*** failed'],
    ['the key', 'shard-0042 is closed', '*** is closed'],
    ['a number that is no text', 'cannot charge 129900', 'cannot charge ***'],
    ['headers deep inside', 'no queue orders-2024, tries 98765', 'no queue ***, tries ***'],
    ['a quote', 'cannot send "Your parcel is with a neighbour." again', 'cannot send *** again'],
    ['the payload', `bad message ${JSON.stringify(PAYLOAD)}`, 'bad message ***'],
    ['half of it, cut', `bad message ${JSON.stringify(PAYLOAD).slice(0, 40)}…`, 'bad message ***…'],
  ])('%s', (_, text, told) => {
    expect(redacted(text, MESSAGE)).toBe(told)
  })

  it.each([
    'the provider hung up',
    'Your account is over its limit', // two words of the payload
    'connect ECONNREFUSED 127.0.0.1:5432',
    'HTTP 429 after 5 attempts',
    "Cannot read properties of undefined (reading 'amount')",
    '',
  ])('and the rest is told as it is: %s', (text) => {
    expect(redacted(text, MESSAGE)).toBe(text)
  })

  it('anything at all, where the message cannot be read', () => {
    const hostile = {
      get inner(): never {
        throw new Error('a getter')
      },
    }
    expect(redacted('+447700900123', { ...MESSAGE, headers: { hostile } })).toBe('***')
  })

  it('an end, of headers that hold themselves', () => {
    const headers: Record<string, unknown> = { id: 'order-4711' }
    headers['self'] = headers
    expect(redacted('order-4711 failed', { ...MESSAGE, headers })).toBe('*** failed')
  })

  it('much time, whatever its size', () => {
    const value = Buffer.alloc(8 * 1024 * 1024, 'a1 ')
    const text = 'a1 a1.'.repeat(200).slice(0, 1_024)
    const before = process.cpuUsage()
    for (let failure = 0; failure < 20; failure++) redacted(text, { ...MESSAGE, value })
    expect(process.cpuUsage(before).user / 1_000 / 20).toBeLessThan(50)
  })
})

describe('an error that quotes an address or a setting is told without', () => {
  it.each([
    ['postgres://user:hunter2@db:5432/orders is down', 'postgres://***@db:5432/orders is down'],
    ['amqp://guest:hunter2@rabbit/%2f', 'amqp://***@rabbit/%2f'],
    ['redis://:hunter2@cache:6379', 'redis://***@cache:6379'],
    ['password=hunter2 host=db', 'password=*** host=db'],
    ['{"password":"hunter2","user":"me"}', '{"password":***,"user":"me"}'],
  ])('its password: %s', (text, told) => {
    expect(describeError(new Error(text))).toBe(told)
  })
})
