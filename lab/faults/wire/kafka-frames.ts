// Frames of the Kafka protocol that tests read, in the versions that kafkajs 2 uses.

/** Splits one direction of a connection into frames: a length, and that many bytes. */
export class KafkaFrames {
  #left = Buffer.alloc(0)

  /** Frames that end with these bytes; `start` is the offset of a frame that lies in them whole. */
  read(bytes: Buffer): readonly { readonly frame: Buffer; readonly start: number | undefined }[] {
    const carried = this.#left.length
    let left = Buffer.concat([this.#left, bytes])
    let at = 0
    const frames: { frame: Buffer; start: number | undefined }[] = []
    while (left.length >= 4 && left.length >= 4 + left.readInt32BE(0)) {
      const end = 4 + left.readInt32BE(0)
      frames.push({ frame: left.subarray(4, end), start: at >= carried ? at - carried + 4 : undefined })
      left = left.subarray(end)
      at += end
    }
    this.#left = left
    return frames
  }
}

export interface KafkaRequest {
  readonly api: number
  readonly version: number
  readonly correlation: number
  readonly body: Fields
}

export const PRODUCE = 0
export const FETCH = 1
export const OFFSET_COMMIT = 8
export const HEARTBEAT = 12
export const SYNC_GROUP = 14

export function requestOf(frame: Buffer): KafkaRequest {
  const body = new Fields(frame)
  const head = { api: body.int16(), version: body.int16(), correlation: body.int32() }
  body.text() // The client's name.
  return { ...head, body }
}

export interface CommitRequest {
  readonly generation: number
  readonly offsets: readonly CommittedOffset[]
}

interface CommittedOffset {
  readonly topic: string
  /** Offset of the partition number in the frame. */
  readonly partitionAt: number
  readonly offset: number
}

export function commitOf({ body, version }: KafkaRequest): CommitRequest {
  body.text() // The group.
  const generation = body.int32()
  body.text() // The member.
  if (version < 5) body.int64() // How long it is kept.
  const offsets = body.list(() => {
    const topic = body.text()
    return body.list(() => {
      const partitionAt = body.at
      body.int32()
      const place = { topic, partitionAt, offset: body.int64() }
      body.text() // Metadata.
      return place
    })
  })
  return { generation, offsets: offsets.flat() }
}

/** One error code for each partition. */
export function errorsOfCommit(frame: Buffer, version: number): readonly number[] {
  const body = new Fields(frame)
  body.int32() // Correlation.
  if (version >= 3) body.int32() // Throttling.
  const errors = body.list(() => {
    body.text()
    return body.list(() => {
      body.int32()
      return body.int16()
    })
  })
  return errors.flat()
}

class Fields {
  at = 0
  readonly #bytes: Buffer

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  int16(): number {
    this.at += 2
    return this.#bytes.readInt16BE(this.at - 2)
  }

  int32(): number {
    this.at += 4
    return this.#bytes.readInt32BE(this.at - 4)
  }

  int64(): number {
    this.at += 8
    return Number(this.#bytes.readBigInt64BE(this.at - 8))
  }

  /** Empty for null. */
  text(): string {
    const length = Math.max(0, this.int16())
    this.at += length
    return this.#bytes.toString('utf8', this.at - length, this.at)
  }

  list<T>(item: () => T): readonly T[] {
    return Array.from({ length: Math.max(0, this.int32()) }, item)
  }
}
