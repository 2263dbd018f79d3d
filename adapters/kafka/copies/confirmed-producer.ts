import { within, type Message } from '../../../src/internal.ts'
import type { ProducedHeaders } from './headers.ts'
import { errorType } from '../protocol-error.ts'
import type { KafkaClient, Producer, SentMessage } from '../client.ts'

/** A message to send, with headers of its own. */
export interface SentCopy {
  readonly message: Message
  readonly headers: ProducedHeaders
}

/** A producer, and how many sends wait for its answers. */
interface Used {
  readonly opening: Promise<Producer>
  sends: number
  isDiscarded: boolean
}

/**
 * Sends messages. `producer.send` of kafkajs may resolve although a message was never sent, if it sends to several
 * partitions or to one whose leader is unknown. So it sends to one partition at a time and checks the answer: one entry
 * without an error. Anything else is a failure, after which it builds a new producer.
 */
export class ConfirmedProducer {
  readonly #client: Pick<KafkaClient, 'producer'>
  readonly #open = new Set<Used>()
  #current: Used | undefined
  #isClosed = false
  #recognises = false

  constructor(client: Pick<KafkaClient, 'producer'>) {
    this.#client = client
  }

  /** It knows what it is given again after a failure. Known once it has sent. */
  get recognises(): boolean {
    return this.#recognises
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

  /**
   * All of them to the partition that they name, in this order. The same array, sent again after a rejection, is written
   * once if the client can do that. To a partition, one call at a time.
   *
   * @param onSend - called when they may be on their way: a rejection before that means that they are not
   */
  sendAgain(topic: string, messages: SentMessage[], withinMs: number, onSend: () => void): Promise<void> {
    return this.#send(topic, messages, { withinMs, onSend })
  }

  async #send(
    topic: string,
    messages: SentMessage[],
    repeated?: { readonly withinMs: number; readonly onSend: () => void },
  ): Promise<void> {
    if (this.#isClosed) throw new Error('the producer is closed')
    const used = (this.#current ??= this.#opened())
    let [isLasting, isOver] = [false, false]
    const sending = async (): Promise<void> => {
      used.sends++
      try {
        const producer = await used.opening
        if (isOver) throw new Error('given up') // It must not be sent after the caller was told that it was not.
        isLasting = this.#recognises = producer.recognises === true
        repeated?.onSend()
        const batch = repeated && messages
        const answers = await producer.send({ topic, acks: -1, messages }, batch) // mutant: kafka-dead-letter-on-one-replica
        const [answer] = answers
        const isConfirmed = answers.length === 1 && answer?.errorCode === 0 && answer.partition >= 0
        if (!isConfirmed) throw new Error(`expected one confirmed partition, got ${JSON.stringify(answers)}`) // mutant: kafka-answer-of-send-unread
      } finally {
        used.sends--
        this.#endDiscarded(used)
      }
    }
    try {
      if (repeated === undefined) return await sending()
      const { withinMs } = repeated
      await within(withinMs, sending(), () => new Error(`no answer within ${withinMs} ms`))
    } catch (error) {
      isOver = true
      if (!isTooLarge(error) && !isLasting) this.#discard(used)
      throw error
    }
  }

  /** Closes the connection when nothing waits for its answers; the next send opens one. */
  rest(): void {
    if (this.#current !== undefined) this.#discard(this.#current)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#current = undefined
    await Promise.all([...this.#open].map((used) => this.#end(used)))
  }

  #opened(): Used {
    const used = { opening: this.#client.producer(), sends: 0, isDiscarded: false }
    this.#open.add(used)
    return used
  }

  #discard(used: Used): void {
    if (this.#current === used) this.#current = undefined
    used.isDiscarded = true
    this.#endDiscarded(used)
  }

  /** It stays connected while other messages wait for its answers: they would be sent again otherwise. */
  #endDiscarded(used: Used): void {
    if (used.isDiscarded && used.sends === 0) void this.#end(used)
  }

  async #end(used: Used): Promise<void> {
    this.#open.delete(used)
    try {
      await (await used.opening).disconnect()
    } catch {
      // It never connected, or is closed already.
    }
  }
}

/** The topic does not accept a message of this size. */
export function isTooLarge(error: unknown): boolean {
  return errorType(error) === 'MESSAGE_TOO_LARGE'
}

function produced({ message: { key, value }, headers }: SentCopy): SentMessage {
  return { key: asBuffer(key), value: asBuffer(value), headers }
}

function asBuffer(bytes: Uint8Array | null): Buffer | null {
  if (bytes === null || Buffer.isBuffer(bytes)) return bytes
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
