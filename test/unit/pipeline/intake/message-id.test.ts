import { describe, expect, it } from '@jest/globals'
import {
  cloudEvent,
  messageId,
  standardId,
  type IdExtractor,
  type IncomingMessage,
} from '../../../../src/identity/message-id.ts'
import { traitsOf } from '../../../../src/identity/id-traits.ts'

function message(fields: Partial<IncomingMessage<unknown>>): IncomingMessage<unknown> {
  return {
    system: 'kafka',
    destination: 'topic',
    origin: 'topic',
    position: '0@0',
    key: null,
    value: null,
    headers: {},
    payload: undefined,
    ...fields,
  }
}

const bytes = (text: string): Buffer => Buffer.from(text)

function idFrom(extract: IdExtractor, fields: Partial<IncomingMessage<unknown>>): string | undefined {
  const id = extract(message(fields))
  return id === undefined || typeof id === 'string' ? id : Buffer.from(id).toString('latin1')
}

describe('the ID from a header', () => {
  const header = messageId.header('message-id', 'x-id')

  it('is that of the first header that is there, as text or bytes', () => {
    expect(idFrom(header, { headers: { 'message-id': 'a', 'x-id': 'b' } })).toBe('a')
    expect(idFrom(header, { headers: { 'x-id': bytes('b') } })).toBe('b')
    expect(idFrom(header, { headers: { other: 'c' } })).toBeUndefined()
  })

  it('is not looked for in a second header when the first is there and unusable', () => {
    expect(idFrom(header, { headers: { 'message-id': ['a', 'b'], 'x-id': 'c' } })).toBeUndefined()
  })

  it('may be repeated with the same value, and with no other', () => {
    expect(idFrom(header, { headers: { 'x-id': ['a', bytes('a')] } })).toBe('a')
    expect(idFrom(header, { headers: { 'x-id': ['a', 'b'] } })).toBeUndefined()
    expect(idFrom(header, { headers: { 'x-id': [] } })).toBeUndefined()
    expect(idFrom(header, { headers: { 'x-id': ['a', 7] } })).toBeUndefined()
    expect(idFrom(header, { headers: { 'x-id': ['7', 7] } })).toBe('7')
  })

  it('is the text of a whole number, of any type of RabbitMQ, while no digit is lost', () => {
    expect([42, -1, 0, 2 ** 53 - 1, 42n].map((value) => idFrom(header, { headers: { 'x-id': value } }))).toEqual([
      '42',
      '-1',
      '0',
      '9007199254740991',
      '42',
    ])
  })

  it('is refused at its definition if it is a header that the library writes into copies', () => {
    expect(() => messageId.header('message-id', 'consume-once-key')).toThrow(
      'messageId.header: expected a header of your producers, got "consume-once-key": the library writes it, and each copy of a message has another value',
    )
    expect(() => messageId.header('Consume-Once-Key')).toThrow('got "Consume-Once-Key": the library writes it')
    expect(() => messageId.header('')).toThrow('messageId.header: expected the name of a header, got')
    expect(messageId.header('x-attempts', 'consume-once')).toBeInstanceOf(Function)
  })

  it('is no other number, no object, and nothing inherited', () => {
    for (const value of [7.5, 2 ** 53, Number.NaN, Infinity, { id: 'a' }, null, true, { '!': 'timestamp', value: 7 }]) {
      expect(idFrom(header, { headers: { 'x-id': value } })).toBeUndefined()
    }
    expect(idFrom(messageId.header('constructor', '__proto__', 'toString'), { headers: {} })).toBeUndefined()
    expect(idFrom(header, { headers: Object.create({ 'x-id': 'a' }) as Record<string, unknown> })).toBeUndefined()
  })

  it('is not usable where broken bytes were decoded to the replacement character', () => {
    expect(idFrom(header, { headers: { 'x-id': 'a\uFFFD' } })).toBeUndefined()
    expect(idFrom(header, { headers: { 'x-id': Buffer.from([0x61, 0xff]) } })).toBe('a\u00ff')
  })
})

function told(extract: IdExtractor, fields: Partial<IncomingMessage<unknown>>): string | undefined {
  expect(idFrom(extract, fields)).toBeUndefined()
  return traitsOf(extract).explain?.(message(fields))
}

describe('the reason of a message without an ID', () => {
  it.each([
    [true, 'a boolean'],
    [null, 'null'],
    ['', 'empty text'],
    [bytes(''), 'no bytes'],
    [4.2, 'a number with a fraction'],
    [2 ** 53, 'a number that may have lost digits'],
    [{ secret: 1 }, 'an object'],
    [{ '!': 'timestamp', value: 1 }, 'a timestamp'],
    [{ '!': 'decimal', value: {} }, 'a decimal'],
    ['a\uFFFD', 'text that was not UTF-8'],
    [[], 'nothing'],
    [['a', null], 'null'],
  ])('says which header it was looked for in and what that holds, never the value: %j', (value, found) => {
    const headers = { 'x-id': value }
    const extract = messageId.header('message-id', 'x-id')
    const id = extract(message({ headers }))
    expect(id === undefined || id.length === 0).toBe(true)
    expect(traitsOf(extract).explain?.(message({ headers }))).toBe(`header x-id holds ${found}`)
  })

  it('says where nothing was found', () => {
    const two = messageId.header('message-id', 'x-id')
    expect(told(two, {})).toBe('none of the headers message-id, x-id')
    expect(told(messageId.header('x-id'), {})).toBe('no header x-id')
    expect(told(two, { headers: { 'x-id': ['a', 'b'] } })).toBe('header x-id is repeated with different values')
    expect(told(messageId.property(), {})).toBe('the AMQP property messageId holds nothing')
    expect(told(messageId.property(), { messageId: '\uFFFD' })).toContain('text that was not UTF-8')
    expect(told(cloudEvent(), {})).toContain('no CloudEvent (ce_id and ce_source;')
    expect(told(cloudEvent(), { headers: { ce_id: 'a' } })).toBe('a CloudEvent without the header ce_source')
    expect(told(cloudEvent(), { headers: { ce_id: true, ce_source: 's' } })).toBe('header ce_id holds a boolean')
    expect(told(standardId(), {})).toContain('none of the headers idempotency-key, message-id,')
    expect(told(standardId(), { headers: { id: true } })).toBe('header id holds a boolean')
    expect(told(standardId(), { messageId: '\uFFFD' })).toContain('the AMQP property messageId holds text that was not')
  })
})

describe('the ID from the AMQP property', () => {
  it('is the property', () => {
    expect(idFrom(messageId.property(), { messageId: 'a' })).toBe('a')
    expect(idFrom(messageId.property(), {})).toBeUndefined()
    expect(idFrom(messageId.property(), { messageId: '\uFFFD' })).toBeUndefined()
  })
})

describe('the ID of a CloudEvent', () => {
  it.each([
    ['ce_id', 'ce_source'],
    ['cloudEvents:id', 'cloudEvents:source'],
    ['cloudEvents_id', 'cloudEvents_source'],
  ])('is (source, id) from %s and %s', (id, source) => {
    const one = idFrom(cloudEvent(), { headers: { [id]: 'a', [source]: '/billing' } })
    expect(one).toBe('8:/billinga')
    expect(idFrom(cloudEvent(), { headers: { [id]: bytes('a'), [source]: bytes('/billing') } })).toBe(one)
  })

  it('never takes one pair for another that reads the same when joined', () => {
    const one = idFrom(cloudEvent(), { headers: { ce_source: 'a', ce_id: '1:bc' } })
    const other = idFrom(cloudEvent(), { headers: { ce_source: 'a1:b', ce_id: 'c' } })
    expect(one).not.toBe(other)
  })

  it('needs both, each with one value', () => {
    expect(idFrom(cloudEvent(), { headers: { ce_id: 'a' } })).toBeUndefined()
    expect(idFrom(cloudEvent(), { headers: { ce_source: 'a' } })).toBeUndefined()
    expect(idFrom(cloudEvent(), { headers: { ce_id: ['a', 'b'], ce_source: 's' } })).toBeUndefined()
  })
})

describe('the ID from the usual places', () => {
  it('is that of a CloudEvent, else of the AMQP property, else of the first usual header', () => {
    const headers = { ce_id: 'a', ce_source: 's', 'idempotency-key': 'key', id: 'id' }
    expect(idFrom(standardId(), { headers, messageId: 'property' })).toBe('1:sa')
    expect(idFrom(standardId(), { headers: { id: 'id' }, messageId: 'property' })).toBe('property')
    expect(idFrom(standardId(), { headers: { 'message-id': 'm', id: 'id' } })).toBe('m')
    expect(idFrom(standardId(), { headers: { 'x-deduplication-header': 'd', id: 'id' } })).toBe('d')
    expect(idFrom(standardId(), { headers: { id: 'id' } })).toBe('id')
  })

  it('is none where there is none: never the coordinates, never the trace', () => {
    expect(idFrom(standardId(), { key: bytes('k'), headers: { traceparent: '00-1-2-01' } })).toBeUndefined()
  })
})
