import { setTimeout as sleep } from 'node:timers/promises'
import { Kafka, logLevel, type Producer } from 'kafkajs'
import type { Shape } from '../messages.ts'
import type { Pace } from '../pace.ts'
import { seeded } from '../seeded.ts'
import { sendsOf } from '../sends.ts'
import { messageOf } from './messages.ts'
import { PARTITIONS } from './plan.ts'

interface SendingParts {
  readonly brokers: readonly string[]
  readonly topic: string
  readonly messages: number
  readonly seed: number
  readonly shape: Shape
  readonly pace: Pace
  readonly signal: AbortSignal
}

/**
 * Sends all messages, those of a partition in turn. What counts as sent is what the leader acknowledged with all replicas in
 * sync: kafkajs resolves a send to several partitions although some got nothing, so that each goes to one, and the answer
 * must name it.
 */
export class Sending {
  readonly #parts: SendingParts
  readonly #acknowledged: Set<string>

  constructor(parts: SendingParts, acknowledged: Set<string>) {
    this.#parts = parts
    this.#acknowledged = acknowledged
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
    const numbers = { from: partition, below: messages, step: PARTITIONS }
    for (const send of sendsOf(seeded(seed, `sending ${partition}`), numbers)) {
      await pace.maySend(Math.max(...send))
      await this.#send(producer, partition, send)
    }
  }

  async #send(producer: Producer, partition: number, numbers: readonly number[]): Promise<void> {
    const { topic, seed, shape, signal } = this.#parts
    const sent = numbers.map((number) => messageOf(seed, number, shape))
    const messages = sent.map(({ id, key, value }) => ({ partition, key, value, headers: { 'message-id': id } }))
    for (;;) {
      signal.throwIfAborted()
      const answers = await producer.send({ topic, messages, acks: -1 }).catch(() => [])
      if (answers.some((answer) => answer.partition === partition && answer.errorCode === 0)) break
      await sleep(100)
    }
    for (const { id } of sent) this.#acknowledged.add(id)
  }
}
