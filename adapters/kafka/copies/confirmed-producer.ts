import type { Message } from '../../../src/internal.ts'
import type { ProducedHeaders } from './headers.ts'
import { errorType } from '../protocol-error.ts'
import type { KafkaClient, Producer } from '../client.ts'

/** A message to send, with headers of its own. */
export interface SentCopy {
  readonly message: Message
  readonly headers: ProducedHeaders
}

type Produced = Parameters<Producer['send']>[0]['messages'][number]

/**
 * Sends copies of messages. `producer.send` of kafkajs may resolve although a message was never sent, if it sends to
 * several partitions or to one whose leader is unknown. So it sends to one partition at a time and checks the answer:
 * one entry without an error. Anything else is a failure, after which it builds a new producer.
 */
export class ConfirmedProducer {
  readonly #client: Pick<KafkaClient, 'producer'>
  #producer: Promise<Producer> | undefined
  #isClosed = false

  constructor(client: Pick<KafkaClient, 'producer'>) {
    this.#client = client
  }

  /** Resolves when all in-sync replicas have the copy. */
  send(topic: string, message: Message, headers: ProducedHeaders): Promise<void> {
    return this.#send(topic, [produced({ message, headers })])
  }

  /** All of them to one partition, in this order. After a rejection some may be there. */
  sendTo(topic: string, partition: number, copies: readonly SentCopy[]): Promise<void> {
    return this.#send(
      topic,
      copies.map((copy) => ({ ...produced(copy), partition })),
    )
  }

  async #send(topic: string, messages: Produced[]): Promise<void> {
    if (this.#isClosed) throw new Error('the producer is closed')
    const connecting = (this.#producer ??= this.#client.producer())
    try {
      const producer = await connecting
      const answers = await producer.send({ topic, acks: -1, messages }) // mutant: kafka-dead-letter-on-one-replica
      const [answer] = answers
      const isConfirmed = answers.length === 1 && answer?.errorCode === 0 && answer.partition >= 0
      if (!isConfirmed) throw new Error(`expected one confirmed partition, got ${JSON.stringify(answers)}`) // mutant: kafka-answer-of-send-unread
    } catch (error) {
      if (!isTooLarge(error)) this.#discard(connecting)
      throw error
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const producer = this.#producer
    this.#producer = undefined
    await disconnect(producer)
  }

  #discard(producer: Promise<Producer>): void {
    if (this.#producer === producer) this.#producer = undefined
    void disconnect(producer)
  }
}

/** The topic does not accept a message of this size. */
export function isTooLarge(error: unknown): boolean {
  return errorType(error) === 'MESSAGE_TOO_LARGE'
}

async function disconnect(producer: Promise<Producer> | undefined): Promise<void> {
  try {
    await (await producer)?.disconnect()
  } catch {
    // It never connected, or is closed already.
  }
}

function produced({ message: { key, value }, headers }: SentCopy): Produced {
  return { key: asBuffer(key), value: asBuffer(value), headers }
}

function asBuffer(bytes: Uint8Array | null): Buffer | null {
  if (bytes === null || Buffer.isBuffer(bytes)) return bytes
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
