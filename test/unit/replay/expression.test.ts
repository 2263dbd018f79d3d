import { describe, expect, it } from '@jest/globals'
import type { Message } from '../../../src/ports/message.ts'
import { parseCondition, parseField } from '../../../src/replay/expression.ts'
import { messageWith } from '../../kit/message.ts'

const PAYLOAD = { to: '+4912', 'a/b': { '~c': 7 }, list: ['x', 'y'], empty: '', nothing: null }
const MESSAGE: Message = messageWith({
  system: 'kafka',
  origin: 'sms',
  position: '0@1',
  key: Buffer.from('k1'),
  value: null,
  headers: { tenant: Buffer.from('acme') },
})

function read(text: string): unknown {
  const field = parseField(text)
  return typeof field === 'string' ? { problem: field } : field.read(MESSAGE, () => PAYLOAD)
}

function holds(text: string): boolean | undefined {
  const condition = parseCondition(text)
  if (typeof condition === 'string') throw new Error(condition)
  return condition.holds(MESSAGE, () => PAYLOAD)
}

describe('fields of a message', () => {
  it.each([
    ['$message.payload#/to', '+4912'],
    ['$message.payload#/a~1b/~0c', '7'],
    ['$message.payload#/list/1', 'y'],
    ['$message.payload#/list', '["x","y"]'],
    ['$message.payload#/nothing', undefined],
    ['$message.payload#/missing/deep', undefined],
    ['$message.payload#/__proto__/toString', undefined],
    ['$message.header#/tenant', 'acme'],
    ['$message.key', 'k1'],
    ['/to', '+4912'],
  ])('%s', (text, value) => {
    expect(read(text)).toBe(value)
  })

  it.each([
    'to',
    '$message.payload',
    '$message.payload#to',
    '$message.payload#/a~2',
    '$message.header#/a/b',
    '$message.header#',
  ])('refuses %s, and says what was expected', (text) => {
    expect(parseField(text)).toContain('expected ')
  })
})

describe('conditions', () => {
  it.each([
    ['$message.payload#/to=+4912', true],
    ['$message.payload#/to!=+4912', false],
    ['$message.payload#/to^=+49', true],
    ['$message.payload#/to*=91', true],
    ['$message.header#/tenant|=globex,acme', true],
    ['$message.header#/tenant|=globex,acm', false],
    ['$message.payload#/missing|=,x', undefined],
    ['$message.payload#/missing=', undefined],
    ['$message.payload#/missing!=x', undefined],
    ['$message.payload#/nothing!=x', undefined],
    ['$message.payload#/empty=', true],
    ['$message.header#/tenant=acme', true],
  ])('%s is %s', (text, expected) => {
    expect(holds(text)).toBe(expected)
  })

  it('refuses one without an operator', () => {
    expect(parseCondition('$message.key')).toContain('expected <field>=<value>')
  })
})
