import { describe, expect, it } from '@jest/globals'
import { pointerPath, valueAt } from '../../../src/core/json-pointer.ts'

function at(value: unknown, pointer: string): unknown {
  return valueAt(value, pointerPath(pointer) ?? ['never'])
}

describe('a JSON Pointer', () => {
  /** The document and the pointers of RFC 6901, section 5. */
  const document = {
    foo: ['bar', 'baz'],
    '': 0,
    'a/b': 1,
    'c%d': 2,
    'e^f': 3,
    'g|h': 4,
    'i\\j': 5,
    'k"l': 6,
    ' ': 7,
    'm~n': 8,
  }

  it.each([
    ['', document],
    ['/foo', ['bar', 'baz']],
    ['/foo/0', 'bar'],
    ['/', 0],
    ['/a~1b', 1],
    ['/c%d', 2],
    ['/e^f', 3],
    ['/g|h', 4],
    ['/i\\j', 5],
    ['/k"l', 6],
    ['/ ', 7],
    ['/m~0n', 8],
  ])('finds what RFC 6901 says at %j', (pointer, found) => {
    expect(at(document, pointer)).toEqual(found)
  })

  it('reads ~01 as ~1, never as a slash', () => {
    expect(at({ '~1': 'a' }, '/~01')).toBe('a')
  })

  it.each(['/foo/2', '/foo/-', '/foo/01', '/foo/length', '/foo/0/0', '/constructor', '/__proto__', '/foo/0/length'])(
    'finds nothing at %j',
    (pointer) => {
      expect(at(document, pointer)).toBeUndefined()
    },
  )

  it.each(['foo', '#/foo', '/~', '/~2', '/a~'])('is not %j', (text) => {
    expect(pointerPath(text)).toBeUndefined()
  })
})
