import { gzipSync } from 'node:zlib'

/** The bytes that a broker sends, as the protocol defines them: https://kafka.apache.org/documentation/#messageformat. */

export interface RecordSpec {
  readonly offsetDelta: number
  readonly timestampDelta?: bigint | number
  readonly key?: Buffer | null
  readonly value?: Buffer | null
  readonly headers?: readonly (readonly [name: string, value: Buffer | null])[]
}

export interface BatchSpec {
  readonly firstOffset: bigint
  readonly records: readonly RecordSpec[]
  /** The records are there so many times, with the same offsets. */
  readonly times?: number
  /** By default that of the last record. */
  readonly lastOffsetDelta?: number
  readonly producerId?: bigint
  readonly isTransactional?: boolean
  readonly isControl?: boolean
  readonly isAppendTimed?: boolean
  readonly isGzipped?: boolean
  readonly firstTimestamp?: bigint
  readonly maxTimestamp?: bigint
}

export interface PartitionSpec {
  readonly partition: number
  readonly errorCode?: number
  readonly highWatermark?: bigint
  readonly aborted?: readonly { readonly producerId: bigint; readonly firstOffset: bigint }[] | null
  /** What `batchBytes` made, one after the other. */
  readonly records: Buffer
}

export const marker = (type: 'abort' | 'commit'): Buffer => Buffer.from([0, 0, 0, type === 'abort' ? 0 : 1])

export function batchBytes(batch: BatchSpec): Buffer {
  const { firstOffset, records, producerId = -1n, firstTimestamp = 0n, maxTimestamp = firstTimestamp } = batch
  const { times = 1 } = batch
  const once = Buffer.concat(records.map(recordBytes))
  const plain = Buffer.alloc(once.length * times, once)
  const attributes =
    (batch.isGzipped === true ? 1 : 0) |
    (batch.isAppendTimed === true ? 0x08 : 0) |
    (batch.isTransactional === true ? 0x10 : 0) |
    (batch.isControl === true ? 0x20 : 0)
  const body = Buffer.concat([
    int32(1), // Leader epoch.
    int8(2), // Magic byte.
    int32(0), // Checksum.
    int16(attributes),
    int32(batch.lastOffsetDelta ?? records.at(-1)?.offsetDelta ?? 0),
    int64(firstTimestamp),
    int64(maxTimestamp),
    int64(producerId),
    int16(0),
    int32(0),
    int32(records.length * times),
    batch.isGzipped === true ? gzipSync(plain) : plain,
  ])
  return Buffer.concat([int64(firstOffset), int32(body.length), body])
}

/** One message of before Kafka 0.11. */
export function messageSetBytes(offset: bigint, key: Buffer, value: Buffer): Buffer {
  const body = Buffer.concat([
    int32(0),
    int8(1),
    int8(0),
    int64(1n),
    int32(key.length),
    key,
    int32(value.length),
    value,
  ])
  return Buffer.concat([int64(offset), int32(body.length), body])
}

export function responseBytes(version: number, topics: Readonly<Record<string, readonly PartitionSpec[]>>): Buffer {
  const names = Object.keys(topics)
  return Buffer.concat([
    int32(7), // Throttled for so long.
    ...(version < 7 ? [] : [int16(0), int32(0)]),
    int32(names.length),
    ...names.flatMap((name) => {
      const partitions = topics[name] ?? []
      return [int16(Buffer.byteLength(name)), Buffer.from(name), int32(partitions.length), ...partitions.map(partition)]
    }),
  ])

  function partition({
    partition: id,
    errorCode = 0,
    highWatermark = 100n,
    aborted = [],
    records,
  }: PartitionSpec): Buffer {
    return Buffer.concat([
      int32(id),
      int16(errorCode),
      int64(highWatermark),
      int64(highWatermark),
      ...(version < 5 ? [] : [int64(0n)]),
      int32(aborted?.length ?? -1),
      ...(aborted ?? []).flatMap(({ producerId, firstOffset }) => [int64(producerId), int64(firstOffset)]),
      ...(version < 11 ? [] : [int32(-1)]),
      int32(records.length),
      records,
    ])
  }
}

function recordBytes({ offsetDelta, timestampDelta = 0, key = null, value = null, headers = [] }: RecordSpec): Buffer {
  const body = Buffer.concat([
    int8(0),
    varlong(timestampDelta),
    varlong(offsetDelta),
    varBytes(key),
    varBytes(value),
    varlong(headers.length),
    ...headers.flatMap(([name, header]) => [varBytes(Buffer.from(name)), varBytes(header)]),
  ])
  return Buffer.concat([varlong(body.length), body])
}

function varBytes(bytes: Buffer | null): Buffer {
  return bytes === null ? varlong(-1) : Buffer.concat([varlong(bytes.length), bytes])
}

function varlong(value: bigint | number): Buffer {
  if (typeof value === 'number')
    return value >= -64 && value < 64 ? int8((value << 1) ^ (value >> 31)) : varlong(BigInt(value))
  let left = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n))
  const bytes: number[] = []
  do {
    const byte = Number(left & 0x7fn)
    left >>= 7n
    bytes.push(left === 0n ? byte : byte | 0x80)
  } while (left !== 0n)
  return Buffer.from(bytes)
}

function int8(value: number): Buffer {
  return Buffer.from([value])
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeInt16BE(value)
  return bytes
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

function int64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(value)
  return bytes
}
