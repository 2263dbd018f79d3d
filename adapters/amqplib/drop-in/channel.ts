import { errorMonitor } from 'node:events'
import { describeError } from '../../../src/index.ts'
import type { AmqpChannel } from '../slice.ts'

/** What is used of a channel of amqplib that stays yours: `Channel` or `ConfirmChannel`. */
export interface OwnChannel extends Pick<AmqpChannel, 'ack' | 'nack'> {
  reject(message: { readonly fields: { readonly deliveryTag: number } }, requeue: boolean): void
  /** Where it is known, the one that this channel is on. */
  readonly connection?: unknown
  on(event: string | symbol, listener: (error?: Error) => void): unknown
  removeListener(event: string | symbol, listener: (error?: Error) => void): unknown
}

/**
 * Tells the end of a channel, and hears its error without being a listener to it: a channel that nobody listens to ends its
 * connection, and whether it may is for its owner to say.
 */
export function watchEnd(channel: OwnChannel, onEnd: (why: string) => void): () => void {
  let why = 'closed'
  const onError = (error?: Error): void => {
    why = describeError(error)
  }
  const onClose = (): void => onEnd(why)
  channel.on(errorMonitor, onError)
  channel.on('close', onClose)
  return () => {
    channel.removeListener(errorMonitor, onError)
    channel.removeListener('close', onClose)
  }
}
