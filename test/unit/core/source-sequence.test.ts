import { describe, expect, it } from '@jest/globals'
import * as fc from 'fast-check'
import { messageId, type IncomingMessage } from 'consume-once'
import { HIGHEST_NUMBER } from '../../../src/core/sequence.ts'
import { numberedId, readNumberedId, readSequenceKey, sequenceKey } from '../../../src/identity/sequence-key.ts'

const HASHED = 'n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg'

describe('messageId.sourceSequence', () => {
  const id = messageId.sourceSequence({ source: messageId.header('device'), sequence: messageId.header('seq') })

  it.each([
    ['digits', { device: 'meter-4', seq: '17' }, '17:meter-4'],
    ['bytes', { device: Buffer.from('meter-4'), seq: Buffer.from('17') }, '17:meter-4'],
    ['leading zeros', { device: 'meter-4', seq: '0017' }, '17:meter-4'],
    ['a number beyond 2^53', { device: 'm', seq: '9007199254740993' }, '9007199254740993:m'],
    ['the highest number', { device: 'm', seq: String(HIGHEST_NUMBER) }, `${HIGHEST_NUMBER}:m`],
    ['a colon in the source', { device: '1:2', seq: '0' }, '0:1:2'],
  ])('takes %s', (_title, headers, expected) => {
    expect(id(messageWith(headers))).toBe(expected)
  })

  it.each([
    ['no source', { seq: '1' }],
    ['a blank source', { device: ' ', seq: '1' }],
    ['a source that is no UTF-8', { device: Buffer.from([0xff]), seq: '1' }],
    ['no number', { device: 'm' }],
    ['an empty number', { device: 'm', seq: '' }],
    ['a negative number', { device: 'm', seq: '-1' }],
    ['a fraction', { device: 'm', seq: '1.5' }],
    ['an exponent', { device: 'm', seq: '1e3' }],
    ['a blank', { device: 'm', seq: ' 1' }],
    ['a number above 2^64-1', { device: 'm', seq: String(HIGHEST_NUMBER + 1n) }],
    ['other digits', { device: 'm', seq: '١' }],
  ])('gives no ID for %s', (_title, headers) => {
    expect(id(messageWith(headers))).toBeUndefined()
  })

  it.each([
    [17, '17:m'],
    [17n, '17:m'],
    [0, '0:m'],
    [-1, undefined],
    [1.5, undefined],
    [2 ** 53, undefined],
    [-1n, undefined],
    [Number.NaN, undefined],
  ])('takes %p of a function as %p: a number that may have lost digits is none', (sequence, expected) => {
    const of = messageId.sourceSequence({ source: () => 'm', sequence: () => sequence })
    expect(of(messageWith({}))).toBe(expected)
  })

  it.each([
    [{}, /source: expected a function.*sequence: expected a function/s],
    [{ source: () => 'm', sequence: () => 1, seq: 1 }, /seq: unknown option/],
    [undefined, /^2 problems:\n- messageId.sourceSequence: source: /],
  ])('refuses the options %j', (options, problem) => {
    expect(() => messageId.sourceSequence(options as never)).toThrow(problem)
  })
})

describe('the key of a source and a number', () => {
  const numbers = fc.bigInt({ min: 0n, max: HIGHEST_NUMBER })

  it('has both in it', () => {
    fc.assert(
      fc.property(numbers, (number) => {
        const key = sequenceKey(HASHED, number)
        expect(key).toMatch(/^[\w-]{36}$/)
        expect(readSequenceKey(key)).toEqual({ source: HASHED.slice(0, 24), number })
      }),
    )
  })

  it('is not read from other keys', () => {
    for (const key of ['', HASHED.slice(0, 22), HASHED, `${HASHED.slice(0, 24)}____________`]) {
      expect(readSequenceKey(key)).toBeUndefined()
    }
  })

  it('an ID is read as it was written, and nothing else is one', () => {
    fc.assert(
      fc.property(numbers, fc.string({ minLength: 1 }), (number, source) => {
        expect(readNumberedId(numberedId({ source, number }))).toEqual({ source, number })
      }),
    )
    for (const text of ['', '17', '17:', ':m', '017:m', '-1:m', 'm:17', `${HIGHEST_NUMBER + 1n}:m`]) {
      expect(readNumberedId(text)).toBeUndefined()
    }
  })
})

function messageWith(headers: Readonly<Record<string, unknown>>): IncomingMessage<unknown> {
  return {
    system: 'memory',
    destination: 'readings',
    origin: 'readings',
    position: '0',
    key: null,
    value: null,
    headers,
    payload: undefined,
  }
}
