import { ConfigError, describeError } from '../../src/index.ts'
import { closeQuietly } from './close.ts'
import type { Link } from './link.ts'
import type { RabbitSettings } from './options.ts'
import type { AmqpChannel } from './slice.ts'
import { watch } from './watch.ts'
import { within } from './within.ts'

const ANSWER_WITHIN_MS = 15_000

/**
 * Sees to it that the queue and its dead-letter queue are there. Returns a warning, or `undefined`.
 *
 * Attempts are counted in the store, so the delivery limit of quorum queues is disabled where it exists (from 4.0): past
 * it the broker would drop messages. What was declared before an upgrade cannot be changed by declaring: a warning.
 *
 * @throws ConfigError `CONFIG_INVALID`: missing, or of another kind
 */
export async function seeToTopology(link: Link, settings: RabbitSettings): Promise<string | undefined> {
  const queues = [settings.queue, settings.deadLetterQueue]
  switch (settings.assert) {
    case false:
      return link.limitsDeliveries ? LIMIT_UNKNOWN : undefined
    case 'check':
      for (const queue of queues) await check(link, queue)
      return link.limitsDeliveries ? LIMIT_UNKNOWN : undefined
    case true: {
      const limited: string[] = []
      for (const queue of queues) {
        const isConsumed = queue === settings.queue
        if ((await declare(link, queue, settings, isConsumed)) === 'other-limit') limited.push(queue)
      }
      return limited.length === 0
        ? undefined
        : `${limited.join(', ')}: declared with another x-delivery-limit. ${LIMIT}`
    }
  }
}

const LIMIT =
  'A quorum queue drops, or moves to its dead-letter exchange, what came back more often than its limit; from 4.0 that is ' +
  '20 times by default. Set the policy delivery-limit to -1 (not before 4.0), or declare the queue anew.'

const LIMIT_UNKNOWN = `The queues were not declared here, so their delivery limit is unknown. ${LIMIT}`

async function check(link: Link, queue: string): Promise<void> {
  await ask(link, queue, (channel) => channel.checkQueue(queue))
}

async function declare(
  link: Link,
  queue: string,
  settings: RabbitSettings,
  isConsumed: boolean,
): Promise<'alike' | 'other-limit'> {
  const kind = {
    'x-queue-type': settings.queueType,
    ...(isConsumed && settings.singleActiveConsumer ? { 'x-single-active-consumer': true } : {}),
  }
  const unlimited =
    settings.queueType === 'quorum' && link.limitsDeliveries ? [{ ...kind, 'x-delivery-limit': -1 }] : []
  for (const wanted of [...unlimited, kind]) {
    try {
      await ask(link, queue, (channel) => channel.assertQueue(queue, { durable: true, arguments: wanted }))
      return wanted === kind && unlimited.length > 0 ? 'other-limit' : 'alike'
    } catch (error) {
      if (!describeError(error).includes("'x-delivery-limit'")) throw error
    }
  }
  return 'other-limit'
}

/** Each question on a channel of its own: a "no" closes the channel. */
async function ask(link: Link, queue: string, question: (channel: AmqpChannel) => Promise<unknown>): Promise<void> {
  const channel = await within(ANSWER_WITHIN_MS, 'open channel', link.connection.createChannel())
  watch(channel, () => {})
  try {
    await within(ANSWER_WITHIN_MS, `declare ${queue}`, question(channel))
  } catch (error) {
    throw asConfigError(error, queue)
  } finally {
    await closeQuietly(channel)
  }
}

/** An answer of the broker that only a change of queue or options can mend; other errors as they are. */
export function asConfigError(error: unknown, queue: string): unknown {
  const why = describeError(error)
  switch (replyCode(error)) {
    case 404:
      return configError(error, `queue ${queue}: expected to exist, got: ${why}. Create it, or let assert: true do so`)
    case 406:
      return configError(
        error,
        `queue ${queue}: expected it to be as it is declared here, got: ${why}. Choose queueType after the queue, ` +
          `or take it as it is by assert: 'check', or delete it`,
      )
    case 403:
    case 405:
      return configError(error, `queue ${queue}: expected to be allowed to use it, got: ${why}`)
    default:
      return error
  }
}

function configError(cause: unknown, problem: string): ConfigError {
  return Object.assign(new ConfigError([`RabbitMQ: ${problem}`]), { cause })
}

function replyCode(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
