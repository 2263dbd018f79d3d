/** Reads the fields of a Kafka message one after the other. Throws where the bytes end before the field does. */
export class Bytes {
  readonly #buffer: Buffer
  #at = 0

  constructor(buffer: Buffer) {
    this.#buffer = buffer
  }

  get left(): number {
    return this.#buffer.length - this.#at
  }

  int8(): number {
    return this.#buffer.readInt8(this.#passed(1))
  }

  int16(): number {
    return this.#buffer.readInt16BE(this.#passed(2))
  }

  int32(): number {
    return this.#buffer.readInt32BE(this.#passed(4))
  }

  int64(): bigint {
    return this.#buffer.readBigInt64BE(this.#passed(8))
  }

  take(length: number): Buffer {
    const from = this.#passed(length)
    return this.#buffer.subarray(from, from + length)
  }

  /** A text with an int16 as its length. */
  text(): string {
    return this.take(this.int16()).toString('utf8')
  }

  varint(): number {
    const bits = this.uvarint()
    return (bits >>> 1) ^ -(bits & 1)
  }

  /** Without a sign, as 32 bits. */
  uvarint(): number {
    let bits = 0
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.#buffer[this.#passed(1)] ?? 0
      bits |= (byte & 0x7f) << shift
      if (byte < 0x80) return bits
    }
    throw new RangeError('a varint has more than 5 bytes')
  }

  /** The fields that an older reader does not know, by their tag. */
  tagged(): ReadonlyMap<number, Buffer> {
    const fields = new Map<number, Buffer>()
    for (let count = this.uvarint(); count > 0; count--) {
      const tag = this.uvarint()
      fields.set(tag, this.take(this.uvarint()))
    }
    return fields
  }

  /** A `number` if it has at most four bytes, which is faster. */
  varlong(): number | bigint {
    const from = this.#at
    for (let index = from; index < from + 4; index++) if ((this.#buffer[index] ?? 0) < 0x80) return this.varint()
    let bits = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#buffer[this.#passed(1)] ?? 0
      bits |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asIntN(64, (bits >> 1n) ^ -(bits & 1n))
    }
    throw new RangeError('a varlong has more than 10 bytes')
  }

  /** A varint as the length, -1 for null. */
  varBytes(): Buffer | null {
    const length = this.varint()
    return length === -1 ? null : this.take(length)
  }

  /** One for each header: without a view of its bytes. */
  varText(): string {
    const length = this.varint()
    const from = this.#passed(length)
    return this.#buffer.toString('utf8', from, from + length)
  }

  /** Moves over a field, and returns where it begins. */
  #passed(length: number): number {
    const from = this.#at
    if (length < 0 || from + length > this.#buffer.length) {
      throw new RangeError(`expected a field of ${length} bytes, got ${this.left}`)
    }
    this.#at = from + length
    return from
  }
}
