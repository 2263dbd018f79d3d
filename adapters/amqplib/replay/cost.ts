import { countedText, ReplayError } from '../../../src/internal.ts'
import type { AmqpMessage } from '../amqplib-like.ts'
import { limitOf } from '../topology/judgement.ts'
import type { Declaration } from '../topology/questions.ts'
import { isAtLeast } from '../topology/server-version.ts'

/** Above it reading may take longer than the consumer timeout of the broker. */
const MANY = 50_000
/** A message this close to the delivery limit is refused: the next looks would drop it. */
const NEAR = 2

/** What is known of a queue before it is read. */
export interface KnownQueue {
  readonly name: string
  /** `undefined`: it cannot be found out. */
  readonly declared: Declaration | undefined
  /** Such as `4.0.5`; empty if unknown. */
  readonly version: string
}

/** What reading costs, one sentence each. */
export function warningsOf(queue: KnownQueue, found: { readonly ready: number; readonly consumers: number }): string[] {
  const { name } = queue
  return [
    `Reading takes messages out of queue ${name} and hands them back when the reader closes: their redelivered flag becomes true, their order may change, and its consumers do not get them meanwhile.`,
    ...costOfLooking(queue),
    ...(found.consumers > 0
      ? [
          `Queue ${name} has ${countedText(found.consumers, 'consumer, which takes', 'consumers, which take')} messages while it is read.`,
        ]
      : []),
    ...(found.ready > MANY
      ? [
          `${found.ready} messages are held unacknowledged until the reader closes: after its consumer_timeout (30 minutes by default) the broker takes all of them back and the reading fails. Read fewer at once.`,
        ]
      : []),
  ]
}

function costOfLooking({ name, declared, version }: KnownQueue): string[] {
  if (declared === undefined) {
    return [
      `How queue ${name} was declared cannot be found out: if it is a quorum queue, each look may count towards a delivery limit, beyond which the broker drops the message.`,
    ]
  }
  if (declared.arguments['x-queue-type'] !== 'quorum') return []
  const server = version === '' ? 'RabbitMQ of an unknown version' : `RabbitMQ ${version}`
  const counted = isAtLeast(version, 4, 3)
    ? `${server} does not count a message that is handed back, but a connection that is lost meanwhile counts once for each message`
    : `${server} counts each look at a message of a quorum queue as a delivery`
  const limit = limitOf(declared.arguments, version)
  const limited =
    limit === undefined
      ? 'the arguments of the queue set no delivery limit'
      : `its delivery limit is ${limit}, and the broker ${fateBeyond(declared)} a message that comes back more often, so such a message is published to the end of the queue again instead`
  return [
    `${counted}; ${limited}. A policy can set a limit that cannot be seen by AMQP: look with \`rabbitmqctl list_policies\`.`,
  ]
}

function fateBeyond({ arguments: declared }: Declaration): string {
  return declared['x-dead-letter-exchange'] === undefined ? 'drops' : 'dead-letters'
}

/**
 * @throws ReplayError `REPLAY_REFUSED` if the broker would soon drop the message because it is looked at
 */
export function checkDeliveries(message: AmqpMessage, queue: KnownQueue): void {
  const { name, version } = queue
  const { count, limit } = deliveriesOf(message, queue)
  // A limit of 2 allows a first look.
  if (count < Math.max(1, limit - NEAR)) return
  throw new ReplayError(
    'REPLAY_REFUSED',
    `queue ${name}: a message has come back ${count} times, and the delivery limit is ${limit}: looking at it again may lose it. ${isAtLeast(version, 4, 0) ? 'Set the limit to -1' : 'Raise the limit'} by the policy delivery-limit, or move the messages to a queue that has none, and read that`,
  )
}

/** The broker drops the message, or dead-letters it, if it comes back once more. */
export function isLastDelivery(message: AmqpMessage, queue: KnownQueue): boolean {
  const { count, limit } = deliveriesOf(message, queue)
  return count >= limit
}

/** A count is believed only of a message that was delivered before: a sender can write the header too. */
function deliveriesOf(
  { fields, properties }: AmqpMessage,
  { declared, version }: KnownQueue,
): { readonly count: number; readonly limit: number } {
  const count = fields.redelivered ? properties.headers?.['x-delivery-count'] : undefined
  const limit = declared === undefined ? undefined : limitOf(declared.arguments, version)
  return { count: typeof count === 'number' ? count : 0, limit: limit ?? Number.POSITIVE_INFINITY }
}
