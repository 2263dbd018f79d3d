import { setTimeout as sleep } from 'node:timers/promises'
import { Kafka, logLevel, type Producer } from 'kafkajs'
import { messageOf } from './messages.ts'
import type { Pace } from './pace.ts'
import { PARTITIONS } from './plan.ts'
import { between, seeded, type Random } from './seeded.ts'

interface SendingParts {
  readonly brokers: readonly string[]
  readonly topic: string
  readonly messages: number
  readonly seed: number
  readonly pace: Pace
  readonly signal: AbortSignal
}

/** Share of the messages that come again later, with the same ID and payload. */
const SENT_TWICE = 0.05
const MOST_IN_ONE_SEND = 60

/**
 * Sends all messages, those of a partition in turn. What counts as sent is what the leader acknowledged with all replicas in
 * sync: kafkajs resolves a send to several partitions although some got nothing, so that each goes to one, and the answer
 * must name it.
 */
export class Sending {
  readonly acknowledged: Set<string> = new Set()
  readonly #parts: SendingParts

  constructor(parts: SendingParts) {
    this.#parts = parts
  }

  async run(): Promise<void> {
    const client = new Kafka({
      brokers: [...this.#parts.brokers],
      logLevel: logLevel.NOTHING,
      requestTimeout: 5_000,
      retry: { initialRetryTime: 50, maxRetryTime: 500, retries: 5 },
    })
    const producer = client.producer({ metadataMaxAge: 5_000 })
    try {
      await producer.connect()
      await Promise.all(Array.from({ length: PARTITIONS }, (_, partition) => this.#fill(producer, partition)))
    } finally {
      await producer.disconnect()
    }
  }

  async #fill(producer: Producer, partition: number): Promise<void> {
    const { messages, seed, pace } = this.#parts
    const random = seeded(seed, `sending ${partition}`)
    let again: number[] = []
    for (let next = partition; next < messages || again.length > 0;) {
      const numbers = again.splice(0, between(random, 0, again.length))
      for (let room = between(random, 1, MOST_IN_ONE_SEND); room > 0 && next < messages; room--) {
        numbers.push(next)
        next += PARTITIONS
      }
      if (next >= messages) numbers.push(...again.splice(0))
      await pace.maySend(Math.max(...numbers))
      await this.#send(producer, partition, numbers)
      again = again.concat(chosen(random, numbers, next >= messages))
    }
  }

  async #send(producer: Producer, partition: number, numbers: readonly number[]): Promise<void> {
    const { topic, seed, signal } = this.#parts
    const sent = numbers.map((number) => messageOf(seed, number))
    const messages = sent.map(({ id, key, value }) => ({ partition, key, value, headers: { 'message-id': id } }))
    for (;;) {
      signal.throwIfAborted()
      const answers = await producer.send({ topic, messages, acks: -1 }).catch(() => [])
      if (answers.some((answer) => answer.partition === partition && answer.errorCode === 0)) break
      await sleep(100)
    }
    for (const { id } of sent) this.acknowledged.add(id)
  }
}

/** Those that will be sent once more; none after the last. */
function chosen(random: Random, numbers: readonly number[], isLast: boolean): readonly number[] {
  return isLast ? [] : numbers.filter(() => random() < SENT_TWICE)
}
