import { BrokerError, ConfigError, type DeadLetter, type Publisher } from '../../../src/index.ts'
import { DeadLetterQueue } from '../copies/dead-letter-queue.ts'
import { ProducerPublisher, type ConfirmedPublisher } from '../publishing/confirmed-publisher.ts'

/**
 * Dead letters go to `queue`, persistent, mandatory and confirmed, with the headers that `runRabbit` gives them: the
 * publisher of `runInline` for people whose framework owns the ack. The queue must be there; `publisher` stays open.
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

/** Nobody may publish: what would have to be dead-lettered stays where it is, for all to see. */
export const REFUSES_DEAD_LETTERS: Publisher = {
  async deadLetter({ reason, detail }: DeadLetter): Promise<void> {
    throw new BrokerError(
      'BROKER_PUBLISH_REFUSED',
      `a message must be dead-lettered (${reason}: ${detail}), and nobody may do so. Give onMessage() the option deadLetter; until then the message stays unacked`,
    )
  },
}
