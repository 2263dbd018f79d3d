import { originTopicIn, type Message } from '../../src/internal.ts'

/**
 * The event of Amazon MSK and of self-managed Kafka
 * (https://docs.aws.amazon.com/lambda/latest/dg/with-msk.html): records by topic-partition.
 */
export interface KafkaEvent {
  readonly records: Readonly<Record<string, readonly KafkaRecord[]>>
}

export interface KafkaRecord {
  readonly topic: string
  readonly partition: number
  readonly offset: number
  readonly timestamp?: number
  readonly timestampType?: string
  /** Base64. */
  readonly key?: string | null
  /** Base64. */
  readonly value?: string | null
  /** One object for each header, with its bytes. */
  readonly headers?: readonly Readonly<Record<string, readonly number[] | null>>[]
}

/** The event of Amazon MQ for RabbitMQ (https://docs.aws.amazon.com/lambda/latest/dg/with-mq.html): messages by queue. */
export interface RabbitEvent {
  /** By `queue::virtual host`. */
  readonly rmqMessagesByQueue: Readonly<Record<string, readonly RabbitRecord[]>>
}

export interface RabbitRecord {
  readonly basicProperties: {
    readonly headers?: Readonly<Record<string, unknown>> | null
    readonly messageId?: string | null
  }
  readonly redelivered?: boolean
  /** Base64. */
  readonly data: string
}

export function kafkaMessage(record: KafkaRecord): Message {
  const { topic, partition, offset, timestamp } = record
  const headers = kafkaHeaders(record.headers ?? [])
  return {
    system: 'kafka',
    destination: topic,
    origin: originTopicIn(headers) ?? topic,
    position: `${partition}@${offset}`,
    key: bytesIn(record.key),
    value: bytesIn(record.value),
    headers,
    timestamp: timestamp !== undefined && timestamp >= 0 ? timestamp : undefined,
  }
}

/** The event has no delivery tag: `at` is the place in its queue's list. */
export function rabbitMessage(queueAndHost: string, record: RabbitRecord, at: number): Message {
  const { basicProperties, redelivered, data } = record
  const end = queueAndHost.lastIndexOf('::')
  const queue = end < 0 ? queueAndHost : queueAndHost.slice(0, end)
  return {
    system: 'rabbitmq',
    destination: queue,
    origin: queue,
    position: `lambda/${at}`,
    key: null,
    value: Buffer.from(data, 'base64'),
    headers: rabbitHeaders(basicProperties.headers ?? {}),
    messageId: basicProperties.messageId ?? undefined,
    redelivered,
  }
}

function bytesIn(base64: string | null | undefined): Buffer | null {
  return base64 === undefined || base64 === null ? null : Buffer.from(base64, 'base64')
}

/** Without a prototype: a header may have any name. Bytes may have a sign. */
function kafkaHeaders(raw: NonNullable<KafkaRecord['headers']>): Record<string, unknown> {
  const headers = Object.create(null) as Record<string, unknown>
  for (const [name, value] of raw.flatMap((one) => Object.entries(one))) {
    const bytes = value === null ? null : Buffer.from(value)
    const known = headers[name]
    if (!(name in headers)) headers[name] = bytes
    else headers[name] = Array.isArray(known) ? [...(known as unknown[]), bytes] : [known, bytes]
  }
  return headers
}

/** Text comes as `{ bytes: [...] }`. amqplib gives it as text, so an ID is the same under both. */
function rabbitHeaders(raw: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const headers = Object.create(null) as Record<string, unknown>
  for (const [name, value] of Object.entries(raw)) headers[name] = plain(value)
  return headers
}

function plain(value: unknown): unknown {
  const bytes = typeof value === 'object' && value !== null ? (value as { readonly bytes?: unknown }).bytes : undefined
  return Array.isArray(bytes) ? Buffer.from(bytes as number[]).toString() : value
}
