import { describe, expect, it } from '@jest/globals'
import {
  cloudEvent,
  messageId,
  standardId,
  type IdExtractor,
  type IncomingMessage,
} from '../../../../src/identity/message-id.ts'

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
  })

  it('is no number, no object, and nothing inherited', () => {
    for (const value of [7, { id: 'a' }, null, true]) {
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
