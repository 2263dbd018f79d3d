import { describe, expect, it } from '@jest/globals'
import * as fc from 'fast-check'
import { MAX_ID_BYTES } from '../../../src/core/key.ts'
import { idBytes } from '../../../src/core/message-id.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

const [SURROGATES, BEHIND_SURROGATES, CHARACTERS] = [0xd800, 0xe000, 0x110000]

/** Text of all characters. `fc.string` first makes a table of a million of them. */
function anyText(minLength: number): fc.Arbitrary<string> {
  const surrogates = BEHIND_SURROGATES - SURROGATES
  const character = fc
    .nat({ max: CHARACTERS - surrogates - 1 })
    .map((code) => String.fromCodePoint(code < SURROGATES ? code : code + surrogates))
  return fc.array(character, { minLength, maxLength: 60 }).map((characters) => characters.join(''))
}

describe('idBytes', () => {
  it.each([undefined, null, '', new Uint8Array(0)])('finds no ID in %p', (id) => {
    expect(idBytes(id)).toBe('missing')
  })

  it.each([' ', '\t\r\n', '\u00a0', '\u3000\u2003', '\ufeff'])('finds nothing but blanks in %j', (id) => {
    expect(idBytes(id)).toBe('blank')
    expect(idBytes(bytes(id))).toBe('blank')
  })

  it.each(['\ud800', 'a\udc00b', '\udc00\ud800'])(
    'refuses a string with a lone surrogate: it has no bytes of its own',
    (id) => {
      expect(idBytes(id)).toBe('ill-formed')
    },
  )

  it('takes up to 512 bytes, counted as bytes and not as characters', () => {
    expect(idBytes('x'.repeat(MAX_ID_BYTES))).toHaveLength(MAX_ID_BYTES)
    expect(idBytes('x'.repeat(MAX_ID_BYTES + 1))).toBe('too-long')
    expect(idBytes('ж'.repeat(MAX_ID_BYTES / 2))).toHaveLength(MAX_ID_BYTES)
    expect(idBytes('ж'.repeat(MAX_ID_BYTES / 2 + 1))).toBe('too-long')
    expect(idBytes(new Uint8Array(MAX_ID_BYTES + 1).fill(1))).toBe('too-long')
    expect(idBytes(' '.repeat(10_000))).toBe('too-long')
  })

  it('keeps case, blanks around and forms of Unicode apart', () => {
    const ids = [
      'Order-1',
      'order-1',
      'order-1 ',
      ' order-1',
      'caf\u00e9',
      'cafe\u0301',
      '1',
      '01',
      '1.0',
      '\u0000',
      '\u0000\u0000',
    ]
    const seen = ids.map((id) => Buffer.from(idBytes(id)).toString('hex'))
    expect(new Set(seen).size).toBe(ids.length)
  })

  it('takes bytes as they are, valid UTF-8 or not [T101]', () => {
    for (const id of [[0xff], [0xff, 0xfe], [0, 1, 2], [0x20, 0x80], [0xc3, 0x28]]) {
      expect(idBytes(Uint8Array.from(id))).toEqual(Uint8Array.from(id))
    }
  })

  it('gives text and its UTF-8 bytes the same ID', () => {
    fc.assert(
      fc.property(anyText(1), (text) => {
        expect(idBytes(bytes(text))).toEqual(idBytes(text))
      }),
      { numRuns: 1_000 },
    )
  })

  it('gives different usable texts different IDs', () => {
    fc.assert(
      fc.property(anyText(0), anyText(0), (left, right) => {
        const [ofLeft, ofRight] = [idBytes(left), idBytes(right)]
        if (left === right || typeof ofLeft === 'string' || typeof ofRight === 'string') return
        expect(ofLeft).not.toEqual(ofRight)
      }),
    )
  })
})
