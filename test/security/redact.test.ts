import { describe, expect, it } from '@jest/globals'
import * as fc from 'fast-check'
import {
  describeError,
  LeaseLostError,
  StoppedError,
  StoreError,
  TerminalError,
  TransactionError,
} from '../../src/foundation/errors.ts'
import { redacted, redactedDetail, redactedError } from '../../src/pipeline/telemetry/redact.ts'
import type { Message } from '../../src/ports/message.ts'
import { messageWith } from '../kit/message.ts'

const PAYLOAD = {
  to: '+447700900123',
  mail: 'alice@example.org',
  order: 'ORD-4711/b',
  amount: 129_900,
  text: 'Your parcel is with a neighbour.',
}

const MESSAGE: Message = messageWith({
  key: Buffer.from('shard-0042'),
  value: Buffer.from(JSON.stringify(PAYLOAD)),
  headers: {
    id: Buffer.from('9f1c2d3e-aaaa-4bbb-8ccc-0123456789ab'),
    'x-death': [{ queue: 'orders-2025' }],
    trail: [{ batch: 'batch-2024' }],
    tries: 98_765,
  },
  messageId: 'sms-31337',
})

describe('what an error says of its message is told without [T125]', () => {
  it.each([
    ['a number of its payload', 'no such number +447700900123.', 'no such number +***.'],
    ['the same, as a handler wrote it', 'no such number 447700900123', 'no such number ***'],
    ['a number in a word of the handler', 'user447700900123x is unknown', 'user***x is unknown'],
    ['an address', 'no mailbox <alice@example.org>', 'no mailbox <***>'],
    ['an ID from a header', 'duplicate key (id)=(9f1c2d3e-aaaa-4bbb-8ccc-0123456789ab)', 'duplicate key (id)=(***)'],
    ['the message ID', 'sms-31337 failed', '*** failed'],
    ['the key', 'shard-0042 is closed', '*** is closed'],
    ['a number that is no text', 'cannot charge 129900', 'cannot charge ***'],
    ['headers deep inside', 'no batch batch-2024, tries 98765', 'no batch ***, tries ***'],
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
    expect(redacted('+447700900123', { ...MESSAGE, headers: { hostile } })).toMatch(
      /^\*\*\* \(the message cannot be read/,
    )
  })

  it('an end, of headers that hold themselves', () => {
    const headers: Record<string, unknown> = { id: 'order-4711' }
    headers['self'] = headers
    expect(redacted('order-4711 failed', { ...MESSAGE, headers })).toBe('*** failed')
  })

  it('a quote, wherever it begins in its message and however often its parts are there', () => {
    const value = `${'{"item":"glove","'.repeat(300)}amounts to a gift for Eve Adams and Bob`
    for (let from = value.length - 60; from < value.length - 16; from++) {
      const text = `refused: <${value.slice(from, from + 16)}> twice`
      expect(redacted(text, { ...MESSAGE, value: Buffer.from(value) })).toBe('refused: <***> twice')
    }
  })

  it('much time, whatever its size', () => {
    const value = Buffer.alloc(8 * 1024 * 1024, 'a1 ')
    const text = 'a1 '.repeat(400).slice(0, 1_024)
    const near = 'a1 a1.'.repeat(200).slice(0, 1_024)
    expect(redacted(text, { ...MESSAGE, value })).toMatch(/^\*\*\* \(all of this text/)
    const usual = `order-4711 of +447700900124: ${'no such product in this catalogue, sorry. '.repeat(20)}`
    const sparse = `a${' '.repeat(14)}`.repeat(600_000)
    const messages = [value, Buffer.from(sparse), Buffer.alloc(16_384, '.,')].map((one) => ({ ...MESSAGE, value: one }))
    for (const message of messages) {
      for (const failure of [text, near, usual, sparse.slice(1, 1_024), '.,;'.repeat(341)]) {
        const before = process.cpuUsage()
        for (let count = 0; count < 100; count++) redacted(failure, message)
        expect(process.cpuUsage(before).user / 1_000 / 100).toBeLessThan(10)
      }
    }
  })
})

describe('the diagnosis of a failure', () => {
  const OWN_HEADERS = {
    'consume-once-detail': 'cannot read field of o-0 (attempt 2)',
    'consume-once-reason': 'given-up by an earlier delivery',
    'consume-once-dead-lettered-at': '2026-11-23T05:17:00.000Z',
    'kafka_dlt-exception-message': Buffer.from('cannot read field of o-0 (attempt 2)'),
    'x-death': [{ queue: 'orders-2025', count: 12_345 }],
  }

  it.each([
    ['cannot read field of b-7 (attempt 3)', 'cannot read field of b-7 (attempt 3)'],
    ['given-up by an earlier delivery', 'given-up by an earlier delivery'],
    ['no room in orders-2025 since 2026-11-23', 'no room in orders-2025 since 2026-11-23'],
    ['cannot read field of o-0 (attempt 3)', 'cannot read field of *** (attempt 3)'],
  ])('is not looked for in the headers of its own copies and of the broker: %s', (text, told) => {
    expect(redacted(text, { ...MESSAGE, messageId: 'o-0', headers: OWN_HEADERS })).toBe(told)
  })

  it('is looked for in a header of the producer, whatever names the library once had', () => {
    const headers = { 'x-error-message': 'card 4711 0815 of Alice', 'x-consumer': 'consumer-77' }
    expect(redacted('no card 4711 0815 of Alice', { ...MESSAGE, headers })).toBe('no ***')
    expect(redacted('bad consumer-77', { ...MESSAGE, headers })).toBe('bad ***')
  })

  it('is never a row of stars: a text that only repeats its message says so', () => {
    for (const text of [JSON.stringify(PAYLOAD), '+447700900123', '<alice@example.org>']) {
      expect(redacted(text, MESSAGE)).toBe('*** (all of this text repeats its message)')
    }
  })

  const SENTENCES = [
    'given-up by an earlier delivery',
    '3 attempts were started',
    'the handler ran longer than 1 min and did not end when aborted',
    'an earlier attempt ended without mark or release',
  ]
  const OWN_ERRORS = [
    new LeaseLostError('HANDLER_TIMEOUT', 'the handler ran longer than 1 min'),
    new LeaseLostError('LEASE_LOST', 'the lease could not be renewed in time'),
    new StoppedError('still running 30 s after stop()'),
    new TransactionError('FLOATING_QUERY', 'a query of ctx.tx was not awaited'),
  ]
  const anyText = fc.oneof(
    fc.string(),
    fc.constantFrom(...SENTENCES, ...OWN_ERRORS.map(describeError)),
    fc.integer().map(String),
  )
  const anyMessage = fc.record({
    value: fc.array(anyText).map((texts) => Buffer.from(texts.join(' '))),
    key: anyText.map((text) => Buffer.from(text)),
    messageId: anyText,
    headers: fc.dictionary(fc.string(), anyText),
  })

  it('keeps each sentence of the library, whatever the message holds [T127]', () => {
    fc.assert(
      fc.property(anyMessage, fc.constantFrom(...SENTENCES), fc.constantFrom(...OWN_ERRORS), (some, detail, own) => {
        const message = { ...MESSAGE, ...some }
        expect(redactedDetail({ detail }, message)).toBe(detail)
        expect(redactedError(own, message)).toBe(own.message)
        const thrown = redactedDetail(
          { detail: `reconcile threw: +447700900123`, error: '+447700900123' },
          { ...message, key: Buffer.from('+447700900123') },
        )
        expect(thrown).toBe('reconcile threw: *** (all of this text repeats its message)')
        const refused = new StoreError('STORE_AMBIGUOUS', 'the store: order-4711', { cause: 'order-4711' })
        expect(redactedError(refused, { ...message, messageId: 'order-4711' })).toMatch(/^the store: \*\*\*/)
      }),
    )
  })

  it('never holds a planted word of the message, wherever the handler puts it [T126]', () => {
    const words = fc.stringMatching(/^[a-z]{2,8}[-_@.][0-9]{3,12}[a-z]{0,4}$/)
    const around = fc.stringMatching(/^[a-z ,:()"'/]{0,40}$/)
    const places = fc.constantFrom('value', 'key', 'messageId', 'header')
    fc.assert(
      fc.property(words, around, around, around, places, (word, before, after, padding, place) => {
        const message: Message = {
          ...MESSAGE,
          value: Buffer.from(place === 'value' ? `${padding}${word}${padding}` : padding),
          key: place === 'key' ? Buffer.from(word) : null,
          messageId: place === 'messageId' ? word : undefined,
          headers: place === 'header' ? { 'x-user': [word], ...OWN_HEADERS } : OWN_HEADERS,
        }
        expect(redacted(`${before} ${word} ${after}`, message)).not.toContain(word)
        expect(redactedError(new TerminalError(`${before}(${word})${after}`), message)).not.toContain(word)
      }),
      { numRuns: 500 },
    )
  })
})

describe('an error that quotes an address or a setting is told without', () => {
  it.each([
    ['postgres://user:hunter2@db:5432/orders is down', 'postgres://***@db:5432/orders is down'],
    ['amqp://guest:hunter2@rabbit/%2f', 'amqp://***@rabbit/%2f'],
    ['redis://:hunter2@cache:6379', 'redis://***@cache:6379'],
    ['password=hunter2 host=db', 'password=*** host=db'],
    ['{"password":"hunter2","user":"me"}', '{"password":***,"user":"me"}'],
  ])('its password: %s [T121]', (text, told) => {
    expect(describeError(new Error(text))).toBe(told)
  })
})
