import { ConfigError } from '../../src/internal.ts'

/** What Nest's interceptors get, as far as it is used. */
export interface ContextLike {
  getType(): string
  getArgs(): readonly unknown[]
  getHandler(): object
}

/** A delivery of a transport, and the object of the framework that exists once for it. */
export type TransportDelivery = KafkaDelivery | RabbitDelivery | GolevelupDelivery

export interface KafkaDelivery {
  readonly transport: 'kafka'
  readonly key: object
  readonly payload: KafkaPayload
  readonly isRequest: boolean
  /** kafkajs fetches the message again, even if an exception filter makes Nest return as if it were handled. */
  seekBack(): void
}

export interface RabbitDelivery {
  readonly transport: 'rabbitmq'
  readonly key: object
  readonly raw: RawRabbitMessage
  readonly channel: RabbitChannel
  readonly isRequest: boolean
}

export interface GolevelupDelivery {
  readonly transport: 'golevelup'
  readonly key: object
  readonly raw: RawRabbitMessage
}

/** As kafkajs gives it to `eachMessage`. */
interface KafkaPayload {
  readonly topic: string
  readonly partition: number
  readonly message: {
    readonly offset: string
    readonly key: Buffer | null
    readonly value: Buffer | null
    readonly headers: Readonly<Record<string, Buffer | null>>
  }
  heartbeat(): Promise<void>
}

interface RawRabbitMessage {
  readonly properties: { readonly replyTo?: unknown }
}

interface RabbitChannel {
  ack(message: RawRabbitMessage): void
  nack(message: RawRabbitMessage, allUpTo: boolean, requeue: boolean): void
}

/** KafkaContext of @nestjs/microservices. */
interface KafkaContextLike {
  getMessage(): ParsedMessage
  getTopic(): string
  getPartition(): number
  getHeartbeat(): () => Promise<void>
  getConsumer(): { seek(to: { topic: string; partition: number; offset: string }): void }
}

/** RmqContext of @nestjs/microservices. */
interface RmqContextLike {
  getMessage(): RawRabbitMessage
  getChannelRef(): RabbitChannel
}

/** A message of kafkajs whose key, value and headers Nest has decoded. */
interface ParsedMessage {
  readonly offset: string
  readonly key?: unknown
  readonly value?: unknown
  readonly headers?: Readonly<Record<string, unknown>>
}

/** The type of the contexts of @golevelup/nestjs-rabbitmq. */
const GOLEVELUP = 'rmq'
/** Headers of a request of Nest. */
const [CORRELATION_ID, REPLY_TOPIC] = ['kafka_correlationId', 'kafka_replyTopic'] as const

/** @throws ConfigError `CONFIG_INVALID` if it is not one message of Kafka or RabbitMQ */
export function deliveryOf(context: ContextLike): TransportDelivery {
  const given = context.getArgs()[1]
  if (context.getType() === GOLEVELUP && has(given, 'content', 'fields', 'properties')) {
    return { transport: 'golevelup', key: given, raw: given as unknown as RawRabbitMessage }
  }
  if (context.getType() === 'rpc' && has(given, 'getTopic', 'getPartition', 'getConsumer', 'getHeartbeat')) {
    return kafkaDelivery(given as KafkaContextLike, answersRequests(context))
  }
  if (context.getType() === 'rpc' && has(given, 'getChannelRef', 'getMessage')) {
    const rmq = given as RmqContextLike
    const raw = rmq.getMessage()
    const isRequest = raw.properties.replyTo !== undefined && answersRequests(context)
    return { transport: 'rabbitmq', key: given, raw, channel: rmq.getChannelRef(), isRequest }
  }
  throw new ConfigError([
    `OncePerMessage: expected a message of Nest's Kafka or RabbitMQ transport, or one of @RabbitSubscribe without batches, got a call of type '${context.getType()}'`,
  ])
}

/** True for a method with `@MessagePattern`. */
function answersRequests(context: ContextLike): boolean {
  const { getMetadata } = Reflect as { getMetadata?: (name: string, of: object) => unknown }
  return getMetadata?.('microservices:handler_type', context.getHandler()) === 1
}

function kafkaDelivery(context: KafkaContextLike, isAnswering: boolean): KafkaDelivery {
  const [topic, partition, parsed] = [context.getTopic(), context.getPartition(), context.getMessage()]
  const { headers = {} } = parsed
  return {
    transport: 'kafka',
    key: context,
    payload: {
      topic,
      partition,
      message: {
        ...parsed,
        key: bytesOf(parsed.key),
        value: bytesOf(parsed.value),
        headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, bytesOf(value)])),
      },
      heartbeat: context.getHeartbeat(),
    },
    isRequest: isAnswering && [CORRELATION_ID, REPLY_TOPIC].every((name) => headers[name] !== undefined),
    seekBack: () => context.getConsumer().seek({ topic, partition, offset: parsed.offset }),
  }
}

/** Nest has decoded text and parsed JSON; the bytes are lost, except where its parser keeps binary values. */
function bytesOf(decoded: unknown): Buffer | null {
  if (decoded === null || decoded === undefined) return null
  if (Buffer.isBuffer(decoded)) return decoded
  return Buffer.from(typeof decoded === 'string' ? decoded : JSON.stringify(decoded))
}

function has(given: unknown, ...names: readonly string[]): given is object {
  return typeof given === 'object' && given !== null && names.every((name) => name in given)
}
