import {
  COPY_HEADER,
  copyFlag,
  copyText,
  copyTime,
  headerText,
  isoTime,
  originTopicIn,
  type CopyHeader,
  type EpochMs,
  type Message,
} from '../../../src/internal.ts'
import { headerValues, isAppendTimed, type HeaderEntry } from './headers.ts'

/** Where a message was first published, as far as it is known. */
export interface Origin {
  readonly topic: string
  readonly partition: bigint | undefined
  readonly offset: bigint | undefined
  readonly timestamp: bigint | undefined
  readonly timestampType: 'CreateTime' | 'LogAppendTime'
}

const SPRING_PREFIX = 'kafka_dlt-'
const SPRING_TIMESTAMP_TYPE = `${SPRING_PREFIX}original-timestamp-type`

/** False also where the origin that a header names was not believed. */
function isCopy({ headers, origin }: Message): boolean {
  return originTopicIn(headers) === origin
}

/** True if Spring's names on this copy are not those of its producer. */
export function hasSpringHeaders(message: Message): boolean {
  return isCopy(message) && copyFlag(message.headers, COPY_HEADER.springHeaders)
}

export function isSpringHeader(name: string): boolean {
  return name.startsWith(SPRING_PREFIX)
}

/** When the original of a copy was published, if the headers of the copy say it. */
export function firstTimestampIn(headers: Message['headers']): EpochMs | undefined {
  const timestamp = coordinateIn(headers, 'timestamp')
  return timestamp === undefined || timestamp < 0n ? undefined : Number(timestamp)
}

/** A message that is itself a copy keeps the coordinates of the original. */
export function originOf(message: Message): Origin {
  const { headers, origin: topic, position, timestamp } = message
  if (isCopy(message)) {
    const type = copyText(headers, COPY_HEADER.originTimestampType) ?? headerText(headers, SPRING_TIMESTAMP_TYPE)
    return {
      topic,
      partition: coordinateIn(headers, 'partition'),
      offset: coordinateIn(headers, 'offset'),
      timestamp: coordinateIn(headers, 'timestamp'),
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
    [COPY_HEADER.originTopic, topic], // mutant: kafka-origin-lost
    ...(partition === undefined ? [] : [[COPY_HEADER.originPartition, String(partition)] as const]),
    ...(offset === undefined ? [] : [[COPY_HEADER.originOffset, String(offset)] as const]),
    ...(timestamp === undefined ? [] : [[COPY_HEADER.originTimestamp, String(timestamp)] as const]),
    // The usual type is left out.
    ...(timestampType === 'CreateTime' ? [] : [[COPY_HEADER.originTimestampType, timestampType] as const]),
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
  const told = isCopy(message) ? copyTime(message.headers, COPY_HEADER.firstFailureAt) : undefined
  const failedAt = told ?? at
  return failedAt === undefined ? [] : [[COPY_HEADER.firstFailureAt, isoTime(failedAt)]]
}

const COORDINATES = {
  partition: { header: COPY_HEADER.originPartition, bits: 32 },
  offset: { header: COPY_HEADER.originOffset, bits: 64 },
  timestamp: { header: COPY_HEADER.originTimestamp, bits: 64 },
} as const satisfies Record<string, { header: CopyHeader; bits: 32 | 64 }>

/** `undefined` if the header is missing or has no number of this size. */
function coordinateIn(headers: Message['headers'], what: keyof typeof COORDINATES): bigint | undefined {
  const { header, bits } = COORDINATES[what]
  const text = copyText(headers, header)
  if (text !== undefined) {
    const value = /^\d{1,19}$/.test(text) ? BigInt(text) : undefined
    return value !== undefined && BigInt.asIntN(bits, value) === value ? value : undefined
  }
  if (!copyFlag(headers, COPY_HEADER.springHeaders)) return undefined
  const [bytes] = headerValues(headers, `${SPRING_PREFIX}original-${what}`)
  if (!Buffer.isBuffer(bytes) || bytes.length * 8 !== bits) return undefined
  return bits === 32 ? BigInt(bytes.readInt32BE()) : bytes.readBigInt64BE()
}

function bigEndian(value: bigint, bits: 32 | 64): Buffer {
  const bytes = Buffer.alloc(bits / 8)
  if (bits === 32) bytes.writeInt32BE(Number(value))
  else bytes.writeBigInt64BE(value)
  return bytes
}
