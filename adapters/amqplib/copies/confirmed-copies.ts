import { describeError, hasCode, type MessageCopy } from '../../../src/internal.ts'
import { RabbitMessage } from '../message/message.ts'
import type { ReopeningPublisher } from '../publishing/confirmed-publisher.ts'
import type { OutgoingMessage } from '../publishing/confirm-channel.ts'
import { headersToKeep } from '../message/headers.ts'
import { propertiesToKeep, shortText } from '../message/properties.ts'
import { SizeLimit } from './size-limit.ts'

interface Place {
  readonly exchange?: string
  readonly routingKey: string
  /** Set for a queue that this consumer declares. */
  readonly queue?: string
}

/** Declares a queue that was deleted. `false`: it is not ours to declare. */
type DeclareAgain = (queue: string) => Promise<boolean>

/** Publishes copies of messages: body, properties and message ID are unchanged, headers are added. */
export class ConfirmedCopies {
  readonly #publisher: ReopeningPublisher
  readonly #declareAgain: DeclareAgain
  readonly #sizeLimit = new SizeLimit()

  constructor(publisher: ReopeningPublisher, declareAgain: DeclareAgain = async () => false) {
    this.#publisher = publisher
    this.#declareAgain = declareAgain
  }

  /** @throws BrokerError `BROKER_UNREACHABLE`, `BROKER_PUBLISH_REFUSED` */
  async publish({ message }: MessageCopy, place: Place, own: Readonly<Record<string, unknown>>): Promise<void> {
    const raw = RabbitMessage.rawOf(message)
    const body = message.value ?? raw?.content ?? new Uint8Array(0)
    const { exchange = '', routingKey, queue } = place
    const outgoing: OutgoingMessage = {
      exchange,
      routingKey,
      body,
      messageId: shortText(message.messageId),
      headers: { ...headersToKeep(message.headers), ...own },
      properties: propertiesToKeep(raw?.properties ?? {}),
    }
    this.#sizeLimit.check(body)
    try {
      await this.#confirmed(outgoing, queue)
    } catch (error) {
      this.#sizeLimit.learnFrom(error)
      if (!isUnencodable(error)) throw error
      // The sender's headers contain a value that can be read but not written: better publish the copy without them
      // than never.
      await this.#confirmed({ ...outgoing, headers: own }, queue)
    }
  }

  async #confirmed(outgoing: OutgoingMessage, queue: string | undefined): Promise<void> {
    try {
      await this.#publisher.publish(outgoing)
    } catch (error) {
      if (queue === undefined || !isUnroutable(error) || !(await this.#declareAgain(queue))) throw error
      await this.#publisher.publish(outgoing)
    }
  }
}

const UNENCODABLE: ReadonlySet<string> = new Set(['RangeError', 'TypeError', 'SyntaxError'])

function isUnencodable(error: unknown): boolean {
  if (!hasCode(error, 'BROKER_PUBLISH_REFUSED')) return false
  // By name: Node's errors may come from another realm than this one.
  return UNENCODABLE.has(String((error.cause as Partial<Error> | undefined)?.name))
}

function isUnroutable(error: unknown): boolean {
  return hasCode(error, 'BROKER_PUBLISH_REFUSED') && describeError(error).includes('NO_ROUTE')
}
