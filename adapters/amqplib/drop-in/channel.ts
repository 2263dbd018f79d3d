import { errorMonitor } from 'node:events'
import { describeError } from '../../../src/internal.ts'
import { closeQuietly } from '../connection/close.ts'
import { watch } from '../connection/watch.ts'
import { answerWithin } from '../connection/answer-within.ts'
import type { AmqpChannel } from '../amqplib-like.ts'

const ANSWER_WITHIN_MS = 15_000

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

/** Opened as amqplib opens a channel, on the connection of this one. */
interface UnopenedChannel extends AmqpChannel {
  open(): unknown
}

/**
 * Asks on another channel of the same connection, because a refusal closes the channel. Rejects with the refusal, or if
 * this channel is none of the promise API of amqplib.
 */
export async function askBeside(
  channel: OwnChannel,
  what: string,
  question: (channel: AmqpChannel) => Promise<unknown>,
): Promise<void> {
  const Channel = channel.constructor as new (connection: unknown) => UnopenedChannel
  const other = new Channel(channel.connection)
  watch(other, () => {})
  try {
    const opening: unknown = other.open()
    // The callback API answers nothing here, so what is asked there would look as if the broker had agreed.
    if (!(opening instanceof Promise)) throw new TypeError('a channel of the callback API cannot be asked')
    await answerWithin(ANSWER_WITHIN_MS, 'open channel', opening)
    await answerWithin(ANSWER_WITHIN_MS, what, question(other))
  } finally {
    await closeQuietly(other)
  }
}
