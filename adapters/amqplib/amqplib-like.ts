// The part of amqplib that is used; `test/types/amqplib.ts` proves that the real one fits.

/** `ChannelModel` of amqplib: a connection. */
export interface AmqpConnection extends AmqpEvents {
  close(): Promise<void>
  createChannel(): Promise<AmqpChannel>
  createConfirmChannel(): Promise<AmqpConfirmChannel>
  /** A recovering connection of amqplib has none. */
  readonly connection?: {
    readonly serverProperties: Readonly<Record<string, unknown>>
    /** Seconds, as agreed with the server; 0 if there is none. Not in the types of amqplib, so it may be missing. */
    readonly heartbeat?: number
    /** The socket. Not in the types of amqplib, so it may be missing. */
    readonly stream?: { destroy(error: Error): unknown }
  }
}

export interface AmqpChannel extends AmqpEvents {
  close(): Promise<void>
  prefetch(count: number): Promise<unknown>
  assertQueue(queue: string, options: AmqpQueueOptions): Promise<unknown>
  checkQueue(queue: string): Promise<{ readonly messageCount: number; readonly consumerCount: number }>
  checkExchange(exchange: string): Promise<unknown>
  consume(
    queue: string,
    onMessage: (message: AmqpMessage | null) => void,
    options: { readonly consumerTag: string; readonly arguments?: Readonly<Record<string, unknown>> },
  ): Promise<unknown>
  cancel(consumerTag: string): Promise<unknown>
  ack(message: Tagged, allUpTo: boolean): void
  nack(message: Tagged, allUpTo: boolean, requeue: boolean): void
  nackAll(requeue: boolean): void
  reject(message: Tagged, requeue: boolean): void
}

export interface AmqpConfirmChannel extends AmqpChannel {
  publish(
    exchange: string,
    routingKey: string,
    content: Buffer,
    options: AmqpPublishOptions,
    callback: (error: unknown) => void,
  ): boolean
}

/** The part of a message that a settle frame needs. */
interface Tagged {
  readonly fields: { readonly deliveryTag: number }
}

export interface AmqpEvents {
  on(event: 'close', listener: (error?: Error) => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'return', listener: (message: AmqpMessage) => void): unknown
  on(event: 'blocked', listener: (reason: string) => void): unknown
  on(event: 'handler-error' | 'unblocked', listener: () => void): unknown
  removeListener(event: 'close' | 'error' | 'handler-error' | 'unblocked', listener: (error?: Error) => void): unknown
  removeListener(event: 'blocked', listener: (reason: string) => void): unknown
}

export interface AmqpMessage {
  readonly content: Buffer
  readonly fields: {
    readonly deliveryTag: number
    readonly redelivered: boolean
    readonly exchange: string
    readonly routingKey: string
  }
  readonly properties: AmqpProperties
}

/** As amqplib decodes them. A sender may have used any type for a value. */
export interface AmqpProperties {
  readonly headers?: Readonly<Record<string, unknown>> | undefined
  readonly contentType?: unknown
  readonly contentEncoding?: unknown
  readonly priority?: unknown
  readonly correlationId?: unknown
  readonly replyTo?: unknown
  readonly messageId?: unknown
  readonly timestamp?: unknown
  readonly type?: unknown
  readonly userId?: unknown
  readonly appId?: unknown
}

/** Properties of a message to publish. `expiration` and `userId` are missing on purpose, see `message/properties.ts`. */
export interface AmqpPublishProperties {
  readonly contentType?: string
  readonly contentEncoding?: string
  readonly priority?: number
  readonly correlationId?: string
  readonly replyTo?: string
  /** Seconds. */
  readonly timestamp?: number
  readonly type?: string
  readonly appId?: string
}

export interface AmqpPublishOptions extends AmqpPublishProperties {
  readonly mandatory: true
  readonly persistent: true
  readonly messageId?: string
  readonly headers: Readonly<Record<string, unknown>>
}

interface AmqpQueueOptions {
  readonly durable: boolean
  readonly autoDelete?: boolean
  readonly arguments: Readonly<Record<string, unknown>>
}

/** Connect options of amqplib. For socket options (TLS) use a factory. */
export interface AmqpConnectOptions {
  readonly protocol?: string
  readonly hostname?: string
  readonly port?: number
  readonly username?: string
  readonly password?: string
  readonly locale?: string
  readonly frameMax?: number
  /** Seconds. */
  readonly heartbeat?: number
  readonly vhost?: string
  readonly channelMax?: number
}
