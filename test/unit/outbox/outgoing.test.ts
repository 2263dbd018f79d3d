import { describe, expect, it } from '@jest/globals'
import { outgoingOf, published } from '../../../src/outbox/outgoing.ts'
import { RunPublishing } from '../../../src/outbox/publishing.ts'
import type { OutgoingMessage } from '../../../src/index.ts'

const from = { messageId: 'id', order: 'key of the message' }
const lineOf = (message: OutgoingMessage): number => outgoingOf(message, from).line

describe('a message for the outbox', () => {
  it('comes out as it went in, bytes and text, for the publishers of both brokers', () => {
    const bytes = Buffer.from([0, 255, 10])
    const headers = { text: 'ä', bytes }
    expect(published(outgoingOf({ topic: 't', key: 'k', value: bytes, headers, partition: 2 }, from))).toEqual({
      topic: 't',
      key: Buffer.from('k'),
      value: bytes,
      headers: { text: Buffer.from('ä'), bytes },
      partition: 2,
      messageId: 'id',
    })
    expect(published(outgoingOf({ topic: 't', value: null }, from))).toMatchObject({ value: null, key: null })
    const properties = { contentType: 'application/json', priority: 3 }
    expect(
      published(outgoingOf({ exchange: 'e', routingKey: 'r', body: 'x', headers: { n: 1 }, properties }, from)),
    ).toEqual({
      exchange: 'e',
      routingKey: 'r',
      headers: { n: 1 },
      properties,
      body: Buffer.from('x'),
      messageId: 'id',
    })
    expect(published(outgoingOf({ routingKey: 'q', body: '', messageId: 'own' }, from))).toMatchObject({
      exchange: '',
      messageId: 'own',
    })
  })

  it('is of the line of its place and key, of what it names as order, or of the message being handled', () => {
    const line = lineOf({ topic: 't', key: 'k', value: '1' })
    expect(lineOf({ topic: 't', key: Buffer.from('k'), value: '2', messageId: 'other' })).toBe(line)
    expect(lineOf({ topic: 'u', key: 'k', value: '' })).not.toBe(line)
    expect(lineOf({ topic: 't', key: 'l', value: '' })).not.toBe(line)
    expect(lineOf({ topic: 't', value: '' })).toBe(lineOf({ topic: 't', order: from.order, value: '' }))
    expect(lineOf({ topic: 't', key: 'k', order: 'o', value: '' })).toBe(lineOf({ topic: 't', order: 'o', value: '' }))
    expect(lineOf({ exchange: 'e', routingKey: 'r', body: '' })).not.toBe(
      lineOf({ exchange: 'e', routingKey: 's', body: '' }),
    )
    expect(Math.abs(line)).toBeLessThanOrEqual(2 ** 31)
  })

  it('carries the trace of its run, unless it has one of its own', () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const publishing = new RunPublishing()
    const by = { idempotencyKey: 'key', traceparent }
    void publishing.publish({ topic: 't', value: '' }, by)
    void publishing.publish({ routingKey: 'q', body: '', headers: { traceparent: 'own' } }, by)
    const [kafka, rabbit] = publishing.end().map(published)
    expect(kafka).toMatchObject({ messageId: 'key-0', headers: { traceparent: Buffer.from(traceparent) } })
    expect(rabbit).toMatchObject({ messageId: 'key-1', headers: { traceparent: 'own' } })
  })

  it.each<[Record<string, unknown>, string]>([
    [{ topic: 'a b', value: '' }, 'topic: expected the name of a topic'],
    [{ topic: 't' }, 'value: expected bytes, text or null'],
    [{ topic: 't', value: 1 }, 'got number; JSON.stringify()'],
    [{ topic: 't', value: '', headers: { n: 1 } }, 'expected bytes or text, got another value in "n"'],
    [{ topic: 't', value: '', acks: 1 }, 'acks'],
    [{ topic: 't', value: '', messageId: 'x'.repeat(256) }, 'text of 1 to 255 bytes, got a longer one'],
    [{ value: '' }, 'expected a topic (Kafka), or a routingKey'],
    [{ routingKey: 'a\u0000', body: '' }, 'without the character 0'],
    [
      { routingKey: 'q', body: 'x', headers: { a: Buffer.from('x') } },
      'values that JSON can carry, got another one in "a"',
    ],
    [{ routingKey: 'q', body: 'x', properties: { expiration: 1n } }, 'in "expiration"'],
  ])('is refused at once where it cannot be sent: %p', (message, why) => {
    expect(() => outgoingOf(message as never, from)).toThrow(why)
  })
})
