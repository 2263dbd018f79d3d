import { BrokerError, ConfigError, type DeadLetter, type Publisher } from '../../../src/internal.ts'
import { DeadLetterQueue } from '../copies/dead-letter-queue.ts'
import { ProducerPublisher, type ConfirmedPublisher } from '../publishing/confirmed-publisher.ts'

/**
 * Publishes dead letters to `queue`: persistent, mandatory and confirmed, with the headers that `runRabbit` writes.
 * Pass it to `runInline` if your framework owns the ack. The queue must exist. `publisher` stays open.
 *
 * @throws ConfigError `CONFIG_INVALID` unless `publisher` came from `confirmedPublisher()`
 */
export function rabbitDeadLetters(publisher: ConfirmedPublisher, queue: string): Publisher {
  const inner = ProducerPublisher.innerOf(publisher)
  if (inner === undefined) {
    throw new ConfigError(['deadLetter.publisher: expected what confirmedPublisher() returned, got another object'])
  }
  return new DeadLetterQueue(inner, queue)
}

/**
 * Used without the option `deadLetter`: a message that must be dead-lettered stays in the queue, and an event reports
 * it.
 */
export const REFUSES_DEAD_LETTERS: Publisher = {
  async deadLetter({ reason, detail }: DeadLetter): Promise<void> {
    throw new BrokerError(
      'BROKER_PUBLISH_REFUSED',
      `a message must be dead-lettered (${reason}: ${detail}), and there is no publisher. Give onMessage() the option deadLetter; until then the message stays unacked`,
    )
  },
}
