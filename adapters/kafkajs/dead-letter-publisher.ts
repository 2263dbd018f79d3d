import { BrokerError, describeError, type DeadLetter, type Publisher } from '../../src/index.ts'
import type { AdminDesk } from './admin-desk.ts'
import { deadLetterHeaders, minimalHeaders, type ProducedHeaders } from './dead-letter-headers.ts'
import { errorType } from './protocol-error.ts'
import type { KafkaLike, PartitionerArgsLike, ProducerLike } from './slice.ts'
import { createMissing } from './topics.ts'
import type { CopyPlace, Topology } from './topology.ts'

interface PublisherParts {
  readonly kafka: KafkaLike
  readonly desk: AdminDesk
  readonly topology: Topology
  readonly assert: boolean | 'check'
}

/** The caller tries again for ever, with a pause of its own. */
const RETRY = { retries: 3, initialRetryTime: 100, maxRetryTime: 1_000 }

/**
 * Publishes copies to dead-letter topics. `producer.send` of kafkajs resolves although a message was never sent, when it goes
 * to several partitions or to one whose leader is not known yet. Hence one message per send, and its answer is read: one
 * entry, without an error. Anything else is a failure, after which the producer is built anew.
 */
export class DeadLetterPublisher implements Publisher {
  readonly #parts: PublisherParts
  /** Topics that were there when last looked at. */
  readonly #known = new Set<string>()
  #producer: Promise<ProducerLike> | undefined
  #isClosed = false

  constructor(parts: PublisherParts) {
    this.#parts = parts
  }

  async deadLetter(letter: DeadLetter): Promise<void> {
    const place = this.#parts.topology.deadLetterPlace(letter.message)
    const { topic } = place
    try {
      await this.#ensure(place)
      const at = new Date()
      try {
        await this.#send(topic, letter, deadLetterHeaders(letter, at))
      } catch (error) {
        if (errorType(error) !== 'MESSAGE_TOO_LARGE') throw error
        await this.#send(topic, letter, minimalHeaders(letter, at))
      }
    } catch (cause) {
      this.#known.delete(topic)
      throw refused(topic, letter, cause)
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const producer = this.#producer
    this.#producer = undefined
    await disconnect(producer)
  }

  async #ensure(place: CopyPlace): Promise<void> {
    const { desk, assert } = this.#parts
    if (assert === false || this.#known.has(place.topic)) return
    await desk.ask(async (admin) => {
      if ((await admin.listTopics()).includes(place.topic)) return
      if (assert !== true) throw new Error('the topic does not exist; create it, or set assert: true')
      await createMissing(admin, place)
    })
    this.#known.add(place.topic)
  }

  async #send(topic: string, { message }: DeadLetter, headers: ProducedHeaders): Promise<void> {
    if (this.#isClosed) throw new Error('the source is closed')
    const connecting = (this.#producer ??= this.#connect())
    try {
      const producer = await connecting
      const copy = { key: asBuffer(message.key), value: asBuffer(message.value), headers }
      const answers = await producer.send({ topic, acks: -1, messages: [copy] })
      const [answer] = answers
      const isConfirmed = answers.length === 1 && answer?.errorCode === 0 && answer.partition >= 0
      if (!isConfirmed) throw new Error(`expected one confirmed partition, got ${JSON.stringify(answers)}`)
    } catch (error) {
      if (errorType(error) !== 'MESSAGE_TOO_LARGE') this.#discard(connecting)
      throw error
    }
  }

  #connect(): Promise<ProducerLike> {
    const producer = this.#parts.kafka.producer({
      idempotent: false,
      allowAutoTopicCreation: false,
      retry: RETRY,
      createPartitioner: () => partitionFor,
    })
    return producer.connect().then(() => producer)
  }

  #discard(producer: Promise<ProducerLike>): void {
    if (this.#producer === producer) this.#producer = undefined
    void disconnect(producer)
  }
}

function refused(topic: string, { message }: DeadLetter, cause: unknown): BrokerError {
  return new BrokerError(
    'BROKER_PUBLISH_REFUSED',
    `dead letter of ${message.destination}/${message.position} to ${topic} was not confirmed: ${describeError(cause)}`,
    { cause },
  )
}

async function disconnect(producer: Promise<ProducerLike> | undefined): Promise<void> {
  try {
    await (await producer)?.disconnect()
  } catch {
    // It was never connected, or is gone already.
  }
}

function asBuffer(bytes: Uint8Array | null): Buffer | null {
  if (bytes === null || Buffer.isBuffer(bytes)) return bytes
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** Messages of one key stay together. Not the partition other clients would choose; nothing here depends on which it is. */
function partitionFor({ partitionMetadata, message }: PartitionerArgsLike): number {
  const led = partitionMetadata.filter(({ leader }) => leader >= 0)
  const choice = led.length > 0 ? led : partitionMetadata
  const sorted = choice.map(({ partitionId }) => partitionId).toSorted((a, b) => a - b)
  let hash = 0
  for (const byte of Buffer.from(message.key ?? '')) hash = (hash * 31 + byte) >>> 0
  return sorted[hash % sorted.length] ?? 0
}
