import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { writable } from '../../../adapters/amqplib/message/writable.ts'

const load = createRequire(__filename)

/** amqplib's own codec, which has no types and is no entry point of the package. */
const codec = load(join(dirname(load.resolve('amqplib')), 'lib', 'codec.js')) as {
  encodeTable(buffer: Buffer, table: object, offset: number): number
  decodeFields(bytes: Buffer): unknown
}

function written(value: unknown): unknown {
  const buffer = Buffer.alloc(4_096)
  const size = codec.encodeTable(buffer, { value }, 0)
  return (codec.decodeFields(buffer.subarray(4, size)) as { readonly value: unknown }).value
}

describe('a header value that is written again', () => {
  it.each([
    ['a table that names the type of a number', { '!': 'int8', value: 'x' }],
    ['a table that names no type', { '!': 'there is none', value: 'x' }],
    ['a table that names a type, and more', { '!': 'timestamp', value: 1, more: 'x' }],
    ['such a table within a list within a table', { a: [{ '!': 'int8', value: { '!': 'long', value: 'y' } }, 'z'] }],
    ['a timestamp that is none', { '!': 'timestamp', value: 'x' }],
    ['a timestamp', { '!': 'timestamp', value: 1_700_000_000 }],
    ['a decimal', { '!': 'decimal', value: { places: 2, digits: 700 } }],
    ['a table', { id: 'a', list: [1, null, true, Buffer.from([0xff])] }],
  ])('is what was read: %s', (_what, value) => {
    expect(written(writable(value))).toEqual(value)
  })

  it('is the same object if amqplib would write it as it was read', () => {
    for (const value of ['a', 7, null, ['a'], { a: { b: 1 } }, Buffer.from('a')]) expect(writable(value)).toBe(value)
  })
})
