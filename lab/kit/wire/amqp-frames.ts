// The frames of AMQP 0-9-1 that tests look at.

interface Settling {
  readonly tag: number
  readonly multiple: boolean
}

export type Spoken =
  | { readonly kind: 'channel-open' | 'channel-closed' | 'consume' }
  /** Channel 0 is the connection. */
  | { readonly kind: 'closing'; readonly code: number; readonly text: string }
  | { readonly kind: 'deliver'; readonly tag: number; readonly redelivered: boolean }
  | ({ readonly kind: 'ack' } & Settling)
  | ({ readonly kind: 'nack'; readonly requeue: boolean } & Settling)
  | { readonly kind: 'publish'; readonly routingKey: string }
  /** Follows a `deliver` or a `publish`. */
  | { readonly kind: 'message'; readonly messageId: string | undefined }

export interface Frame {
  readonly channel: number
  readonly spoken: Spoken
}

const HEADER_BYTES = 7
const FRAME_END_BYTES = 1
const [METHOD, CONTENT_HEADER] = [1, 2]

/** Cuts one direction of a connection into its frames. */
export class FrameReader {
  #left = Buffer.alloc(0)
  #toSkip: number

  /** `greeting` bytes come before the first frame. */
  constructor(greeting: number) {
    this.#toSkip = greeting
  }

  /** Relevant frames that end with these bytes. */
  read(bytes: Buffer): Frame[] {
    const skipped = Math.min(this.#toSkip, bytes.length)
    this.#toSkip -= skipped
    let left = Buffer.concat([this.#left, bytes.subarray(skipped)])
    const frames: Frame[] = []
    while (left.length >= HEADER_BYTES) {
      const end = HEADER_BYTES + left.readUInt32BE(3)
      if (left.length < end + FRAME_END_BYTES) break
      const spoken = decode(left.readUInt8(0), left.subarray(HEADER_BYTES, end))
      if (spoken !== undefined) frames.push({ channel: left.readUInt16BE(1), spoken })
      left = left.subarray(end + FRAME_END_BYTES)
    }
    this.#left = left
    return frames
  }
}

function decode(type: number, payload: Buffer): Spoken | undefined {
  if (type === METHOD) return method(new Fields(payload))
  return type === CONTENT_HEADER ? { kind: 'message', messageId: messageIdOf(new Fields(payload)) } : undefined
}

function method(fields: Fields): Spoken | undefined {
  switch (`${fields.uint16()}.${fields.uint16()}`) {
    case '10.50':
    case '20.40':
      return { kind: 'closing', code: fields.uint16(), text: fields.shortText() }
    case '20.10':
      return { kind: 'channel-open' }
    case '20.41':
      return { kind: 'channel-closed' }
    case '60.20':
      return { kind: 'consume' }
    case '60.40':
      fields.skip(2)
      fields.shortText() // The exchange.
      return { kind: 'publish', routingKey: fields.shortText() }
    case '60.60':
      fields.shortText() // The consumer tag.
      return { kind: 'deliver', tag: fields.uint64(), redelivered: fields.flags() === 1 }
    case '60.80':
      return { kind: 'ack', tag: fields.uint64(), multiple: fields.flags() === 1 }
    case '60.90':
      return { kind: 'nack', tag: fields.uint64(), multiple: false, requeue: fields.flags() === 1 }
    case '60.120': {
      const [tag, flags] = [fields.uint64(), fields.flags()]
      return { kind: 'nack', tag, multiple: (flags & 1) === 1, requeue: (flags & 2) === 2 }
    }
    default:
      return undefined
  }
}

/** Properties lie there in the order of their flags, from the highest bit; those before the message ID are passed over. */
function messageIdOf(fields: Fields): string | undefined {
  fields.skip(12)
  const flags = fields.uint16()
  const has = (bit: number): boolean => (flags & (1 << bit)) !== 0
  for (const bit of [15, 14]) if (has(bit)) fields.shortText()
  if (has(13)) fields.skip(fields.uint32()) // Headers.
  for (const bit of [12, 11]) if (has(bit)) fields.skip(1)
  for (const bit of [10, 9, 8]) if (has(bit)) fields.shortText()
  return has(7) ? fields.shortText() : undefined
}

class Fields {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  skip(bytes: number): void {
    this.#at += bytes
  }

  flags(): number {
    return this.#bytes.readUInt8(this.#at++)
  }

  uint16(): number {
    this.#at += 2
    return this.#bytes.readUInt16BE(this.#at - 2)
  }

  uint32(): number {
    this.#at += 4
    return this.#bytes.readUInt32BE(this.#at - 4)
  }

  uint64(): number {
    this.#at += 8
    return Number(this.#bytes.readBigUInt64BE(this.#at - 8))
  }

  shortText(): string {
    const end = this.#at + 1 + this.#bytes.readUInt8(this.#at)
    const text = this.#bytes.toString('utf8', this.#at + 1, end)
    this.#at = end
    return text
  }
}
