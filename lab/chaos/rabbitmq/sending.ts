import { setTimeout as sleep } from 'node:timers/promises'
import { connect, type ChannelModel, type ConfirmChannel } from 'amqplib'
import type { Shape } from '../messages.ts'
import type { Pace } from '../pace.ts'
import { seeded } from '../seeded.ts'
import { sendsOf } from '../sends.ts'
import { messageOf } from './messages.ts'

interface SendingParts {
  readonly url: string
  readonly queue: string
  readonly messages: number
  readonly seed: number
  readonly shape: Shape
  readonly pace: Pace
  readonly signal: AbortSignal
}

/** What the sender knows of its messages. */
export class Sent {
  /** IDs that the broker confirmed. */
  readonly acknowledged: Set<string> = new Set()
  /** How often each was sent, also where no confirm came. */
  readonly sent: Map<string, number> = new Map()
  readonly poison: Set<string> = new Set()
}

/** Longer than any confirm takes while the broker stands still. */
const ANSWERS_WITHIN_MS = 20_000

/** Sends all messages on a connection that breaks like the others. Unconfirmed messages are sent again. */
export class Sending {
  readonly #parts: SendingParts
  readonly #known: Sent
  #publisher: Publisher | undefined

  constructor(parts: SendingParts, known: Sent) {
    this.#parts = parts
    this.#known = known
  }

  async run(): Promise<void> {
    const { messages, seed, pace } = this.#parts
    try {
      for (const numbers of sendsOf(seeded(seed, 'sending'), { from: 0, below: messages, step: 1 })) {
        await pace.maySend(Math.max(...numbers))
        await this.#send(numbers)
      }
    } finally {
      await this.#publisher?.close()
    }
  }

  async #send(numbers: readonly number[]): Promise<void> {
    const { url, queue, seed, shape, signal } = this.#parts
    const { acknowledged, sent, poison } = this.#known
    const messages = numbers.map((number) => messageOf(seed, number, shape))
    for (const { id, isPoison } of messages) if (isPoison) poison.add(id)
    for (;;) {
      signal.throwIfAborted()
      try {
        const publisher = (this.#publisher ??= await within(ANSWERS_WITHIN_MS, Publisher.open(url)))
        for (const { id } of messages) sent.set(id, (sent.get(id) ?? 0) + 1)
        await within(ANSWERS_WITHIN_MS, publisher.publish(queue, messages))
        break
      } catch {
        await this.#publisher?.close()
        this.#publisher = undefined
        await sleep(100)
      }
    }
    for (const { id } of messages) acknowledged.add(id)
  }
}

class Publisher {
  readonly #connection: ChannelModel
  readonly #channel: ConfirmChannel
  #returned = 0

  private constructor(connection: ChannelModel, channel: ConfirmChannel) {
    this.#connection = connection
    this.#channel = channel
    channel.on('error', () => {})
    channel.on('return', () => this.#returned++)
  }

  static async open(url: string): Promise<Publisher> {
    const connection = await connect(url, { timeout: 5_000 })
    connection.on('error', () => {})
    return new Publisher(connection, await connection.createConfirmChannel())
  }

  /** Resolves when all of them are confirmed and in the queue. */
  async publish(
    queue: string,
    messages: readonly { readonly id: string; readonly key: string; readonly body: string }[],
  ): Promise<void> {
    const returned = this.#returned
    for (const { id, key, body } of messages) {
      const headers = { key }
      this.#channel.sendToQueue(queue, Buffer.from(body), { messageId: id, headers, persistent: true, mandatory: true })
    }
    await this.#channel.waitForConfirms()
    if (this.#returned > returned) throw new Error(`there is no queue ${queue}`)
  }

  async close(): Promise<void> {
    try {
      await within(ANSWERS_WITHIN_MS, this.#connection.close())
    } catch {
      // It is gone already, or as good as gone.
    }
  }
}

/** A broker that has lost what it was to answer with, as RabbitMQ 3.10 may over a kill, must not hold up the run. */
async function within<T>(ms: number, answer: Promise<T>): Promise<T> {
  const over = new AbortController()
  const late = async (): Promise<never> => {
    await sleep(ms, undefined, { signal: over.signal })
    throw new Error(`no answer within ${ms} ms`)
  }
  try {
    return await Promise.race([answer, late()])
  } finally {
    over.abort()
  }
}
