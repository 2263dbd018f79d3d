import type { Consumer, Health, Running, StopOptions } from '../../../src/internal.ts'
import type { AmqpMessage } from '../amqplib-like.ts'
import type { OwnChannel } from './channel.ts'
import { DropInConsumer } from './consumer.ts'
import { checkOnMessage, type OnMessageOptions } from './options.ts'

/** Stop and health of a drop-in function. Your channel remains yours to close. */
export interface RabbitDropIn extends Pick<Running, 'stop' | 'health'>, AsyncDisposable {}

export type OnMessage = ((message: AmqpMessage | null) => void) & RabbitDropIn

/**
 * For a channel of your own: `channel.consume(queue, onMessage(channel, sms, { queue }), { noAck: false })`. It acks
 * each delivery on that channel, with a frame of its own, when its mark is durable or its dead letter is confirmed.
 * Failures are retried inside, and the delivery stays unacked meanwhile. It never throws into amqplib, and returns at
 * once.
 *
 * Prefer `runRabbit`: this form is weaker, because nothing reopens the channel when it closes, and nothing consumes
 * again when the broker cancels the consumer. `health()` and the observer report it (`channel-closed`,
 * `consumer-cancelled`). Then make a new function for the next channel. Running handlers of the old channel are
 * aborted; if they still mark, the redelivery is a duplicate. Set `channel.prefetch()`, the only limit of unsettled
 * deliveries. With `noAck: true`, which cannot be detected, the first settle closes the channel, and messages are lost.
 *
 * To stop: `await channel.cancel(consumerTag)`, then `await onMessage.stop()`, and only then `await channel.close()`.
 * `stop()` resolves when the broker has had time to process all acks. Messages that have not begun are returned to the
 * queue. If the consumer was not cancelled, later deliveries stay unacked until the channel closes.
 *
 * @throws ConfigError `CONFIG_INVALID`: all problems of the options at once; a store of strategy `offsets`
 * @throws ConfigError `CONSUMER_NAME_TAKEN`: a function for a consumer with another name consumes this queue, on this
 * connection
 */
export function onMessage(channel: OwnChannel, consumer: Consumer, options: OnMessageOptions = {}): OnMessage {
  checkOnMessage(channel, options)
  const dropIn = new DropInConsumer(channel, consumer, options)
  const take = (message: AmqpMessage | null): void => dropIn.take(message)
  const stop = (stopOptions?: StopOptions): Promise<void> => dropIn.stop(stopOptions)
  const health = (): Health => dropIn.health()
  return Object.assign(take, { stop, health, [Symbol.asyncDispose]: () => stop() })
}
