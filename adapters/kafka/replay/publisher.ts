import {
  BrokerError,
  COPY_HEADER,
  describeError,
  isConsumeOnceError,
  type ReplayPublisher,
  type Republished,
} from '../../../src/internal.ts'
import { chunksOf, type Sized } from '../copies/chunks.ts'
import { isTooLarge, type ConfirmedProducer, type SentCopy } from '../copies/confirmed-producer.ts'
import { keptHeaders, toHeaders } from '../copies/copy-headers.ts'
import type { HeaderEntry } from '../copies/headers.ts'
import { describesDeadLetter } from '../copies/dead-letter-facts.ts'
import { originOf } from '../copies/origin.ts'
import { partitionsOf } from '../copies/topics.ts'
import { defaultPartition } from '../copies/default-partition.ts'
import { type ReplayAdmin } from './log-place.ts'

interface PublisherParts {
  readonly producer: ConfirmedProducer
  readonly adminClient: ReplayAdmin
}

/** Publishes to each partition in turn, and to several at once. */
export class LogPublisher implements ReplayPublisher {
  readonly #parts: PublisherParts
  #spread = 0

  constructor(parts: PublisherParts) {
    this.#parts = parts
  }

  async publish(messages: readonly Republished[]): Promise<void> {
    const topics = [...groupBy(messages, ({ destination }) => destination)]
    const sends = topics.map(async ([topic, own]) => {
      try {
        await this.#publishTo(topic, own)
      } catch (error) {
        throw isConsumeOnceError(error) ? error : refused(topic, error)
      }
    })
    await all(sends)
  }

  close(): Promise<void> {
    return this.#parts.producer.close()
  }

  async #publishTo(topic: string, messages: readonly Republished[]): Promise<void> {
    const count = await partitionsOf(this.#parts.adminClient, topic, 'or choose another destination')
    const partitions = groupBy(messages, (message) => this.#partitionFor(message, count))
    await all([...partitions].map(([partition, own]) => this.#send(topic, partition, own.map(copyOf))))
  }

  /** Without a key: the partition that it came from. */
  #partitionFor({ item: { message } }: Republished, count: number): number {
    if (message.key !== null) return defaultPartition(message.key, count)
    const { partition } = originOf(message)
    return partition !== undefined && partition < count ? Number(partition) : this.#spread++ % count
  }

  async #send(topic: string, partition: number, copies: readonly SentCopy[]): Promise<void> {
    for (const chunk of chunksOf(copies, partsOf)) await this.#sendChunk(topic, partition, chunk)
  }

  /** The topic may accept less than expected. */
  async #sendChunk(topic: string, partition: number, chunk: readonly SentCopy[]): Promise<void> {
    try {
      await this.#parts.producer.sendTo(topic, partition, chunk)
    } catch (error) {
      if (!isTooLarge(error) || chunk.length === 1) throw error
      const half = Math.ceil(chunk.length / 2)
      await this.#sendChunk(topic, partition, chunk.slice(0, half))
      await this.#sendChunk(topic, partition, chunk.slice(half))
    }
  }
}

const partsOf = ({ message: { key, value }, headers }: SentCopy): Sized => ({ key, value, headers })

/** The headers of the original, and those that were given. */
function copyOf({ item: { message }, destination, headers }: Republished): SentCopy {
  const isOver = describesDeadLetter(message)
  const kept = keptHeaders(message).filter(([name]) => !isOver(name))
  // The origin is part of the scope of keys: in another topic the header keeps it.
  const origin: readonly HeaderEntry[] =
    destination !== message.origin ? [[COPY_HEADER.originTopic, message.origin]] : []
  return { message, headers: toHeaders(kept, origin, Object.entries(headers)) }
}

function groupBy<K, T>(items: readonly T[], keyOf: (item: T) => K): ReadonlyMap<K, readonly T[]> {
  const groups = new Map<K, T[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}

/** Rejects when all are over, so that nothing is sent after it. */
async function all(sends: readonly Promise<void>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(sends)) {
    if (outcome.status === 'rejected') throw outcome.reason
  }
}

function refused(topic: string, cause: unknown): BrokerError {
  const advice = isTooLarge(cause) ? '. Raise its max.message.bytes, or leave the message out' : ''
  const text = `messages to topic ${topic} were not all confirmed: ${describeError(cause)}${advice}`
  return new BrokerError('BROKER_PUBLISH_REFUSED', text, { cause })
}
