import {
  BrokerError,
  ConfigError,
  isConsumeOnceError,
  type AskedRange,
  type ReadOptions,
  type ReplayItem,
  type ReplayRange,
  type ReplayReader,
} from '../../../src/internal.ts'
import { closeQuietly } from '../connection/close.ts'
import { reasonOf } from '../connection/advice.ts'
import type { Link } from '../connection/link.ts'
import { openChannel } from '../connection/open-channel.ts'
import { watch } from '../connection/watch.ts'
import { RabbitMessage } from '../message/message.ts'
import { untilRead } from '../settling/heeded.ts'
import type { AmqpChannel, AmqpMessage } from '../amqplib-like.ts'
import { ask, checkQueue } from '../topology/questions.ts'
import { isAtLeast } from '../topology/server-version.ts'
import { checkDeliveries, isLastDelivery, warningsOf, type KnownQueue } from './cost.ts'
import { deadLetterIn } from './dead-letter-facts.ts'
import { take } from './taking.ts'

const ANSWER_WITHIN_MS = 15_000
const MOST_IN_BATCH = 1_000

/**
 * Takes messages out of a queue and holds them unacked, so that no message is read twice in one run. What is not acked
 * goes back at the close.
 */
export class QueueReader implements ReplayReader {
  readonly takes = true
  readonly #link: Link
  readonly #queue: KnownQueue
  readonly #publishAgain: (messages: readonly AmqpMessage[]) => Promise<void>
  /** Delivery tags that are not acked. */
  readonly #held = new Set<number>()
  /** Messages that the broker drops when they are handed back. */
  readonly #endangered: AmqpMessage[] = []
  /** The delivery tags of each consumer, in ascending order. */
  readonly #runs: number[][] = []
  #channel: AmqpChannel | undefined
  #lostBecause: string | undefined
  readonly #lost = new AbortController()
  #count = 0
  #closing: Promise<void> | undefined

  /** `publishAgain`: to the same queue, confirmed. */
  constructor(link: Link, queue: KnownQueue, publishAgain: (messages: readonly AmqpMessage[]) => Promise<void>) {
    this.#link = link
    this.#queue = queue
    this.#publishAgain = publishAgain
  }

  async range({ since, until, from, to, max = Number.POSITIVE_INFINITY }: AskedRange): Promise<ReplayRange> {
    const { name } = this.#queue
    if ([since, until, from, to].some((bound) => bound !== undefined)) {
      throw new ConfigError([
        `queue ${name}: expected no time and no position, because RabbitMQ cannot look them up in a queue: bound the range by the number of messages (lookAtMost), and select messages by a filter`,
      ])
    }
    const found = await ask(this.#link, `check ${name}`, (channel) => channel.checkQueue(name)).catch(
      (error: unknown) => {
        throw this.#failed(error)
      },
    )
    const ready = Math.min(found.messageCount, max)
    return {
      parts: [{ part: name, from: '0', to: String(ready) }],
      warnings: warningsOf(this.#queue, { ready, consumers: found.consumerCount }),
    }
  }

  /** Ends before the end of the range if the queue is empty: other consumers may have taken messages. */
  async *read({ parts }: ReplayRange, { signal, ahead = MOST_IN_BATCH }: ReadOptions): AsyncIterable<ReplayItem[]> {
    const most = Math.max(1, Math.min(ahead, MOST_IN_BATCH))
    let left = Number(parts[0]?.to ?? 0)
    while (left > 0 && !signal.aborted) {
      const batch = await this.#take(Math.min(most, left), signal)
      if (batch.length > 0) yield batch
      left = batch.length < most ? 0 : left - batch.length
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  /** Fewer than `most`: the queue is empty, or `signal` aborted. */
  async #take(most: number, signal: AbortSignal): Promise<ReplayItem[]> {
    const { name } = this.#queue
    try {
      const channel = (this.#channel ??= await this.#open())
      const run: number[] = []
      this.#runs.push(run)
      const messages = await take({
        channel,
        queue: name,
        consumerTag: `consume-once-replay-${this.#runs.length}`,
        most,
        onDelivery: (raw) => {
          const { deliveryTag } = raw.fields
          this.#held.add(deliveryTag)
          run.push(deliveryTag)
          if (isLastDelivery(raw, this.#queue)) this.#endangered.push(raw)
        },
        ready: () => checkQueue(this.#link, name),
        ends: AbortSignal.any([signal, this.#lost.signal]),
      })
      return messages.map((raw) => {
        checkDeliveries(raw, this.#queue)
        return this.#itemOf(raw)
      })
    } catch (error) {
      throw this.#failed(error)
    }
  }

  async #open(): Promise<AmqpChannel> {
    const channel = await openChannel(this.#link.connection.createChannel(), ANSWER_WITHIN_MS)
    watch(channel, (why) => {
      this.#lostBecause = why
      this.#lost.abort()
    })
    return channel
  }

  #itemOf(raw: AmqpMessage): ReplayItem {
    const { name } = this.#queue
    const deadLetter = deadLetterIn(raw.properties.headers ?? {})
    const message = new RabbitMessage(raw, name, 'replay', deadLetter?.first)
    return {
      part: name,
      position: String(this.#count++),
      message,
      timestamp: message.timestamp,
      timestampOf: 'producer',
      deadLetter: deadLetter?.facts,
      settle: async (how) => {
        if (how === 'done') this.#ack(raw)
      },
    }
  }

  /** @throws BrokerError if the channel is lost or the reader closed: the message is back in the queue */
  #ack(raw: AmqpMessage): void {
    const { deliveryTag } = raw.fields
    if (!this.#held.has(deliveryTag)) return
    try {
      if (this.#closing !== undefined) throw new Error('the reader is closed')
      if (this.#lostBecause !== undefined) throw new Error(this.#lostBecause)
      this.#channel?.ack(raw, false)
    } catch (error) {
      throw this.#failed(error)
    }
    this.#held.delete(deliveryTag)
  }

  async #close(): Promise<void> {
    try {
      await this.#rescue()
    } finally {
      await this.#handBack()
    }
  }

  /** @throws BrokerError if a message cannot be published again: then the broker drops it, or dead-letters it */
  async #rescue(): Promise<void> {
    const held = this.#endangered.filter(({ fields }) => this.#held.has(fields.deliveryTag))
    if (held.length === 0 || this.#lostBecause !== undefined) return
    await this.#publishAgain(held)
    for (const raw of held) {
      this.#channel?.ack(raw, false)
      this.#held.delete(raw.fields.deliveryTag)
    }
  }

  async #handBack(): Promise<void> {
    const channel = this.#channel
    if (channel !== undefined && this.#lostBecause === undefined) {
      if (this.#held.size > 0 && isAtLeast(this.#queue.version, 4, 3)) {
        // Behind many acks that are not processed yet, the order of the nacks would be lost.
        await untilRead(channel)
        this.#giveBack(channel)
      }
      // Not `untilHeeded`: it may take another message, which the queue may drop when it comes back.
      await untilRead(channel)
      // The broker puts back what is unacked.
      await closeQuietly(channel)
    }
    await this.#link.close()
  }

  /**
   * From 4.3 a quorum queue does not count a nack, and counts the close of a channel. Before, it counts both alike, and
   * keeps the order of the messages at a close only.
   */
  #giveBack(channel: AmqpChannel): void {
    try {
      for (const run of this.#runs) {
        const deliveryTag = run.findLast((tag) => this.#held.has(tag))
        if (deliveryTag !== undefined) channel.nack({ fields: { deliveryTag } }, true, true)
      }
    } catch {
      // The channel is lost, so the broker has taken them back.
    }
  }

  #failed(error: unknown): unknown {
    if (isConsumeOnceError(error)) return error
    const why = this.#link.lostBecause ?? this.#lostBecause ?? reasonOf(error)
    return new BrokerError(
      'BROKER_UNREACHABLE',
      `queue ${this.#queue.name} cannot be read any more: ${why}. The broker takes back every message that was not acknowledged: read again`,
      { cause: error },
    )
  }
}
