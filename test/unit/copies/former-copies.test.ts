import { describe, expect, it } from '@jest/globals'
import { kafkaCopyHeaders, originTopicIn } from '../../../src/copies/kafka.ts'

const RETRY = {
  'x-original-topic': 'sms',
  'x-original-key-present': 'true',
  'x-attempts': '1',
  'x-not-before': '1700000000000',
}
const DEAD_LETTER = {
  'x-original-topic': 'sms',
  'x-original-key-present': 'false',
  'x-attempts': '3',
  'x-dead-letter-reason': 'fatal',
  'x-dead-lettered-at': '2024-01-02T00:00:00.000Z',
}

const bytes = (headers: Readonly<Record<string, string>>): Record<string, Buffer> =>
  Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, Buffer.from(text)]))

describe('the headers of a Kafka message', () => {
  it.each([
    ['a retry copy', RETRY],
    ['a dead letter', DEAD_LETTER],
    ['a retry copy, as bytes', bytes(RETRY)],
  ])('of a former version get the names of today: %s', (_what, headers) => {
    const read = kafkaCopyHeaders({ ...headers, id: 'm-1' })
    expect(originTopicIn(read)).toBe('sms')
    expect(Object.keys(read).filter((name) => name.startsWith('x-'))).toEqual([])
    expect(read['id']).toBe('m-1')
  })

  it.each([
    ['the origin alone, which Spring Cloud Stream writes', { 'x-original-topic': 'sms', 'x-exception-message': 'X' }],
    ['a retry copy without its due time', without(RETRY, 'x-not-before')],
    ['a retry copy without its attempts', without(RETRY, 'x-attempts')],
    ['a due time that is no number', { ...RETRY, 'x-not-before': 'noon' }],
    ['attempts that are no number', { ...RETRY, 'x-attempts': 'many' }],
    ['an origin that is no topic', { ...RETRY, 'x-original-topic': 'no topic!' }],
    ['a dead letter without its time', without(DEAD_LETTER, 'x-dead-lettered-at')],
    ['a dead letter whose time is none', { ...DEAD_LETTER, 'x-dead-lettered-at': 'then' }],
    ["a producer's own, all but the origin", without(RETRY, 'x-original-topic')],
  ])('are those of the producer otherwise: %s', (_what, headers) => {
    expect(kafkaCopyHeaders(headers)).toBe(headers)
  })

  it('of a message that a former version redrove to another topic have its origin, and no other of its names', () => {
    const redriven = { 'x-original-topic': 'sms', 'consume-once-replay-id': 'r1', 'x-consumer': 'theirs' }
    expect({ ...kafkaCopyHeaders(redriven) }).toEqual({
      'consume-once-origin-topic': 'sms',
      'consume-once-replay-id': 'r1',
      'x-consumer': 'theirs',
    })
    const byNow = { ...redriven, 'consume-once-origin-topic': 'orders' }
    expect(kafkaCopyHeaders(byNow)).toBe(byNow)
  })

  it('of a copy that a former version made of a copy of today have the first origin and the newer rest', () => {
    const read = kafkaCopyHeaders({
      ...RETRY,
      'x-original-topic': 'sms.retry-1',
      'consume-once-origin-topic': 'sms',
      'consume-once-origin-offset': '9',
      'consume-once-attempts': '4',
    })
    expect(read).toMatchObject({
      'consume-once-origin-topic': 'sms',
      'consume-once-origin-offset': '9',
      'consume-once-attempts': '1',
      'consume-once-not-before': '1700000000000',
    })
  })

  it('may have any name', () => {
    const headers = { ...RETRY, ['__proto__']: 'p', constructor: 'c' }
    expect(Object.keys(kafkaCopyHeaders(headers))).toEqual(expect.arrayContaining(['__proto__', 'constructor']))
  })
})

function without(headers: Readonly<Record<string, string>>, name: string): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([one]) => one !== name))
}
