import { errorMonitor } from 'node:events'
import { describeError } from '../../../src/spi.ts'
import type { AmqpChannel } from '../slice.ts'

/** The part of an amqplib channel of yours that is used: `Channel` or `ConfirmChannel`. */
export interface OwnChannel extends Pick<AmqpChannel, 'ack' | 'nack' | 'cancel'> {
  reject(message: { readonly fields: { readonly deliveryTag: number } }, requeue: boolean): void
  /** The connection of this channel, if known. */
  readonly connection?: unknown
  on(event: string | symbol, listener: (error?: Error) => void): unknown
  removeListener(event: string | symbol, listener: (error?: Error) => void): unknown
}

/**
 * Calls `onEnd` when a channel closes. It sees the error of the channel without being an `error` listener: a channel
 * without such a listener closes its connection, and that decision belongs to the channel's owner.
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
