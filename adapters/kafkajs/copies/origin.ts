import type { EpochMs, Message } from '../../../src/spi.ts'
import { headerText, headerValues, isAppendTimed, ORIGIN_HEADER, type HeaderEntry } from './headers.ts'

/** Where a message was first published, as far as it is known. */
export interface Origin {
  readonly topic: string
  readonly partition: bigint | undefined
  readonly offset: bigint | undefined
  readonly timestamp: bigint | undefined
  readonly timestampType: 'CreateTime' | 'LogAppendTime'
}

/** Left out if it is `CreateTime`, the usual type. */
const TIMESTAMP_TYPE = 'x-original-timestamp-type'

const SPRING_TIMESTAMP_TYPE = 'kafka_dlt-original-timestamp-type'

export function isCopy({ headers, origin }: Message): boolean {
  return headerText(headers, ORIGIN_HEADER) === origin
}

/** When the original of a copy was published, if the headers of the copy say it. */
export function firstTimestampIn(headers: Message['headers']): EpochMs | undefined {
  const timestamp = coordinateIn(headers, 'timestamp', 64)
  return timestamp === undefined || timestamp < 0n ? undefined : Number(timestamp)
}

/** A message that is itself a copy keeps the coordinates of the original. */
export function originOf(message: Message): Origin {
  const { headers, origin: topic, position, timestamp } = message
  if (isCopy(message)) {
    const type = headerText(headers, TIMESTAMP_TYPE) ?? headerText(headers, SPRING_TIMESTAMP_TYPE)
    return {
      topic,
      partition: coordinateIn(headers, 'partition', 32),
      offset: coordinateIn(headers, 'offset', 64),
      timestamp: coordinateIn(headers, 'timestamp', 64),
      timestampType: type === 'LogAppendTime' ? type : 'CreateTime',
    }
  }
  const [partition = '', offset = ''] = position.split('@')
  return {
    topic,
    partition: BigInt(partition),
    offset: BigInt(offset),
    timestamp: timestamp === undefined ? undefined : BigInt(timestamp),
    timestampType: isAppendTimed(message) ? 'LogAppendTime' : 'CreateTime',
  }
}

export function originHeaders(origin: Origin): readonly HeaderEntry[] {
  const { topic, partition, offset, timestamp, timestampType } = origin
  return [
    [ORIGIN_HEADER, topic], // mutant: kafka-origin-lost
    ...(partition === undefined ? [] : [['x-original-partition', String(partition)] as const]),
    ...(offset === undefined ? [] : [['x-original-offset', String(offset)] as const]),
    ...(timestamp === undefined ? [] : [['x-original-timestamp', String(timestamp)] as const]),
    ...(timestampType === 'CreateTime' ? [] : [[TIMESTAMP_TYPE, timestampType] as const]),
  ]
}

/** The names and the binary format of Spring Kafka. */
export function springOriginHeaders(origin: Origin): readonly HeaderEntry[] {
  const { topic, partition, offset, timestamp, timestampType } = origin
  return [
    ['kafka_dlt-original-topic', topic],
    ...(partition === undefined ? [] : [['kafka_dlt-original-partition', bigEndian(partition, 32)] as const]),
    ...(offset === undefined ? [] : [['kafka_dlt-original-offset', bigEndian(offset, 64)] as const]),
    ...(timestamp === undefined ? [] : [['kafka_dlt-original-timestamp', bigEndian(timestamp, 64)] as const]),
    [SPRING_TIMESTAMP_TYPE, timestampType],
  ]
}

/** When the first attempt failed: the time in an earlier copy, else `at`. `undefined`: no attempt is known to have failed. */
export function firstFailureHeader(message: Message, at: EpochMs | undefined): readonly HeaderEntry[] {
  const text = isCopy(message) ? headerText(message.headers, FIRST_FAILURE) : undefined
  const told = text === undefined ? Number.NaN : Date.parse(text)
  const failedAt = Number.isNaN(told) ? at : told
  return failedAt === undefined ? [] : [[FIRST_FAILURE, new Date(failedAt).toISOString()]]
}

const FIRST_FAILURE = 'x-first-failure-at'

/**
 * `undefined` if the header is missing or has no number of this size: other programs use headers of these names too.
 */
function coordinateIn(
  headers: Message['headers'],
  what: 'partition' | 'offset' | 'timestamp',
  bits: 32 | 64,
): bigint | undefined {
  const text = headerText(headers, `x-original-${what}`)
  if (text !== undefined) {
    const value = /^\d{1,19}$/.test(text) ? BigInt(text) : undefined
    return value !== undefined && BigInt.asIntN(bits, value) === value ? value : undefined
  }
  const [bytes] = headerValues(headers, `kafka_dlt-original-${what}`)
  if (!Buffer.isBuffer(bytes) || bytes.length * 8 !== bits) return undefined
  return bits === 32 ? BigInt(bytes.readInt32BE()) : bytes.readBigInt64BE()
}

function bigEndian(value: bigint, bits: 32 | 64): Buffer {
  const bytes = Buffer.alloc(bits / 8)
  if (bits === 32) bytes.writeInt32BE(Number(value))
  else bytes.writeBigInt64BE(value)
  return bytes
}
