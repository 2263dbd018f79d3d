import type { Consumer, Health, Running, StopOptions } from '../../../src/index.ts'
import type { AmqpMessage } from '../slice.ts'
import type { OwnChannel } from './channel.ts'
import { DropInConsumer } from './consumer.ts'
import { checkOnMessage, type OnMessageOptions } from './options.ts'

/** The life of a drop-in function; that of your channel stays yours. */
export interface RabbitDropIn extends Pick<Running, 'stop' | 'health'>, AsyncDisposable {}

export type OnMessage = ((message: AmqpMessage | null) => void) & RabbitDropIn

/**
 * For a channel of your own: `channel.consume(queue, onMessage(channel, sms, { queue }), { noAck: false })`. It acks each
 * delivery on that channel, by a frame of its own, when its mark is durable or its dead letter confirmed; failures are tried
 * again inside, the delivery unacked meanwhile. It never throws into amqplib, and returns at once.
 *
 * Weaker than `runRabbit`, which prefer: nothing here opens another channel, or consumes again, when this one closes or the
 * broker ends the consumer; `health()` and the observer say so (`channel-closed`, `consumer-cancelled`). Then make a function
 * for the next channel: running handlers of this one are aborted, and what they still mark is a duplicate when it comes again.
 * Set `channel.prefetch()`: it is all that bounds what is taken. With `noAck: true`, which no delivery shows, the first
 * settle closes the channel, and messages are lost.
 *
 * To stop: `await channel.cancel(consumerTag)`, `await onMessage.stop()`, and only then `await channel.close()`: it resolves
 * when the broker has had the time to heed all acks. What has not begun is handed back. What comes after that, where the
 * consumer was not cancelled, stays unacked until the channel closes.
 *
 * @throws ConfigError `CONFIG_INVALID`: all problems of the options at once; a store of strategy `offsets`
 * @throws ConfigError `CONSUMER_NAME_TAKEN`: a function for a consumer of another name takes from this queue, on this connection
 */
export function onMessage(channel: OwnChannel, consumer: Consumer, options: OnMessageOptions = {}): OnMessage {
  checkOnMessage(channel, options)
  const dropIn = new DropInConsumer(channel, consumer, options)
  const take = (message: AmqpMessage | null): void => dropIn.take(message)
  const stop = (stopOptions?: StopOptions): Promise<void> => dropIn.stop(stopOptions)
  const health = (): Health => dropIn.health()
  return Object.assign(take, { stop, health, [Symbol.asyncDispose]: () => stop() })
}
