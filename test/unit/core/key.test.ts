import { describe, expect, it } from '@jest/globals'
import * as fc from 'fast-check'
import { keyMaterial } from '../../../src/core/key.ts'
import { digestOf, identityOf } from '../../../src/identity/digest.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const parts = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 5 })

describe('keyMaterial', () => {
  it('puts a format byte first and each part behind its length', () => {
    const material = keyMaterial([bytes('ab'), bytes('')], bytes('c'))
    expect(Buffer.from(material).toString('hex')).toBe('01000000026162000000000000000163')
  })

  it('writes lengths above a byte in big endian', () => {
    const material = keyMaterial([], new Uint8Array(0x01_02_03))
    expect([...material.subarray(0, 5)]).toEqual([1, 0, 1, 2, 3])
    expect(material).toHaveLength(5 + 0x01_02_03)
  })

  it('tells where one part ends and the next begins', () => {
    expect(keyMaterial([bytes('a:b')], bytes('c'))).not.toEqual(keyMaterial([bytes('a')], bytes('b:c')))
    expect(keyMaterial([bytes('a'), bytes('b')], bytes('c'))).not.toEqual(keyMaterial([bytes('a')], bytes('bc')))
    expect(keyMaterial([bytes('')], bytes('a'))).not.toEqual(keyMaterial([], bytes('a')))
  })

  it('can be read back, so that no two (scope, ID) share a key [T88]', () => {
    fc.assert(
      fc.property(parts, fc.uint8Array({ maxLength: 40 }), (scope, id) => {
        expect(partsOf(keyMaterial(scope, id))).toEqual([...scope, id].map((part) => [...part]))
      }),
    )
  })

  it('makes keys and digests of 128 bits, so that their bytes and their text tell the same [T89]', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (id) => {
        const { key, idempotencyKey } = identityOf([bytes('group')], id)
        const full = Buffer.from(idempotencyKey, 'base64url')
        expect(key).toBe(full.subarray(0, 16).toString('base64url'))
        expect(digestOf(id)).toMatch(/^[\w-]{21}[AQgw]$/)
        expect(Buffer.from(digestOf(id), 'base64url').toString('base64url')).toBe(digestOf(id))
      }),
    )
  })

  // A key that changes makes every store forget: then a new KEY_FORMAT, and a decision.
  it('has not changed [T90]', () => {
    const { key, idempotencyKey } = identityOf([bytes('group'), bytes('topic'), bytes('consumer')], bytes('order-1'))
    expect(idempotencyKey).toBe('ugHZTYH-IJfwB1BypOanx9tfTEAKNmqC0oZnKxM-i-Y')
    expect(key).toBe('ugHZTYH-IJfwB1BypOanxw')
  })
})

function partsOf(material: Uint8Array): number[][] {
  const view = new DataView(material.buffer, material.byteOffset, material.byteLength)
  const read: number[][] = []
  for (let at = 1; at < material.length;) {
    const length = view.getUint32(at)
    read.push([...material.subarray(at + 4, at + 4 + length)])
    at += 4 + length
  }
  return read
}
