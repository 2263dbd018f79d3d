import type { Message } from '../../../src/internal.ts'
import type { ProducedHeaders } from './headers.ts'
import { connectAny } from '../connect-any.ts'
import { errorType } from '../protocol-error.ts'
import type { KafkaLike, PartitionerArgsLike, ProducerLike } from '../kafkajs-like.ts'

/** Few retries: the caller tries again for ever, with its own pauses. */
const RETRY = { retries: 3, initialRetryTime: 100, maxRetryTime: 1_000 }

/** A message to send, with headers of its own. */
export interface SentCopy {
  readonly message: Message
  readonly headers: ProducedHeaders
}

type Produced = Parameters<ProducerLike['send']>[0]['messages'][number]

/**
 * Sends copies of messages. `producer.send` of kafkajs may resolve although a message was never sent, if it sends to
 * several partitions or to one whose leader is unknown. So it sends to one partition at a time and checks the answer:
 * one entry without an error. Anything else is a failure, after which it builds a new producer.
 */
export class ConfirmedProducer {
  readonly #kafka: KafkaLike
  #producer: Promise<ProducerLike> | undefined
  #isClosed = false

  constructor(kafka: KafkaLike) {
    this.#kafka = kafka
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
    const connecting = (this.#producer ??= this.#connect())
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

  #connect(): Promise<ProducerLike> {
    const producer = this.#kafka.producer({
      idempotent: false,
      allowAutoTopicCreation: false,
      retry: RETRY,
      createPartitioner: () => partitionFor,
    })
    return connectAny(producer).then(() => producer)
  }

  #discard(producer: Promise<ProducerLike>): void {
    if (this.#producer === producer) this.#producer = undefined
    void disconnect(producer)
  }
}

/** The topic does not accept a message of this size. */
export function isTooLarge(error: unknown): boolean {
  return errorType(error) === 'MESSAGE_TOO_LARGE'
}

async function disconnect(producer: Promise<ProducerLike> | undefined): Promise<void> {
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

/**
 * The partition that was asked for, else one that keeps messages of one key together. Other clients may choose other
 * partitions; nothing here depends on the choice.
 */
function partitionFor({ partitionMetadata, message }: PartitionerArgsLike): number {
  if (message.partition !== undefined) return message.partition
  const led = partitionMetadata.filter(({ leader }) => leader >= 0)
  const choice = led.length > 0 ? led : partitionMetadata
  const sorted = choice.map(({ partitionId }) => partitionId).toSorted((a, b) => a - b)
  let hash = 0
  for (const byte of Buffer.from(message.key ?? '')) hash = (hash * 31 + byte) >>> 0
  return sorted[hash % sorted.length] ?? 0
}
