// In place of Node's Buffer: the part that the core and the simulator use.

type Encoding = 'utf8' | 'latin1' | 'hex' | 'base64url'

const utf8 = new TextEncoder()

class Bytes extends Uint8Array<ArrayBuffer> {
  constructor(data: number | ArrayBuffer | ArrayLike<number>, offset?: number, length?: number) {
    super(data as ArrayBuffer, offset, length)
  }

  /** Returns the number of bytes that were written. */
  write(text: string, at = 0): number {
    return utf8.encodeInto(text, this.subarray(at)).written
  }

  override toString(encoding: Encoding = 'utf8', from = 0, to: number = this.length): string {
    const bytes = this.subarray(from, to)
    switch (encoding) {
      case 'utf8':
        return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
      case 'latin1':
        return latin1(bytes)
      case 'hex':
        return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
      case 'base64url':
        return btoa(latin1(bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
    }
  }
}

export const BrowserBuffer = {
  from(data: string | ArrayBuffer | ArrayLike<number>, encodingOrOffset?: Encoding | number, length?: number): Bytes {
    if (typeof data === 'string') {
      return new Bytes(encodingOrOffset === 'base64url' ? bytesOfBase64url(data) : utf8.encode(data))
    }
    if (isArrayBuffer(data)) return new Bytes(data, Number(encodingOrOffset ?? 0), length)
    return new Bytes(data)
  },

  alloc: (length: number): Bytes => new Bytes(length),

  byteLength: (text: string): number => utf8.encode(text).length,

  concat(parts: readonly Uint8Array[]): Bytes {
    const whole = new Bytes(parts.reduce((sum, { length }) => sum + length, 0))
    let at = 0
    for (const part of parts) {
      whole.set(part, at)
      at += part.length
    }
    return whole
  },
} as const

function isArrayBuffer(data: ArrayBuffer | ArrayLike<number>): data is ArrayBuffer {
  return Object.prototype.toString.call(data) === '[object ArrayBuffer]'
}

function latin1(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')
}

function bytesOfBase64url(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (character) => character.charCodeAt(0))
}
