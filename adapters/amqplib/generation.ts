import { setTimeout as sleep } from 'node:timers/promises'
import { systemEntropy } from '../../src/index.ts'
import { AckWindow, type AckFrame } from './ack-window.ts'
import { Arrivals } from './arrivals.ts'
import { closeQuietly } from './close.ts'
import { RabbitDelivery } from './delivery.ts'
import { RabbitMessage } from './message.ts'
import type { RabbitSettings } from './options.ts'
import type { AmqpChannel, AmqpConnection, AmqpMessage } from './slice.ts'
import { watch } from './watch.ts'
import { NoAnswerError, within } from './within.ts'

/** Of settle frames shortly before a close, a quorum queue heeds about the first 34. */
const FRAMES_HEEDED = 30
const FRAMES_HEEDED_AFTER_MS = 100
const ANSWER_WITHIN_MS = 15_000
const CANCEL_WITHIN_MS = 5_000

export type GenerationEnd =
  | { readonly event: 'channel-closed'; readonly detail: string }
  /** The broker ended the consumer: its queue was deleted, or its timeout ran out. */
  | { readonly event: 'consumer-cancelled'; readonly detail: string }

interface GenerationHooks {
  readonly deliver: (deliveries: readonly RabbitDelivery[]) => void
  readonly laneOf: (message: RabbitMessage) => string | undefined
  /** The broker was told about so many deliveries. */
  readonly onSettled: (count: number) => void
  /** Called at most once, after the callbacks of the client; not when it was closed from here. */
  readonly onEnd: (generation: Generation, end: GenerationEnd) => void
}

/** One life of the consuming channel. What ends it ends the standing of all its deliveries. */
export class Generation {
  readonly number: number
  readonly #settings: RabbitSettings
  readonly #channel: AmqpChannel
  readonly #hooks: GenerationHooks
  readonly #consumerTag = `consume-once-${systemEntropy.ownerToken()}`
  readonly #window: AckWindow
  readonly #arrivals: Arrivals<RabbitDelivery>
  #isLive = true
  #framesSent = 0
  #finishedSinceFlush = 0
  #isFlushScheduled = false
  /** The broker owes an answer: no use in asking more, the connection goes. */
  #isSilent = false

  private constructor(number: number, channel: AmqpChannel, plan: GenerationPlan) {
    this.number = number
    this.#channel = channel
    this.#settings = plan.settings
    this.#hooks = plan.hooks
    this.#window = new AckWindow(Math.floor(plan.settings.prefetch / 2))
    this.#arrivals = new Arrivals(plan.hooks.deliver, plan.isPaused)
    watch(channel, (why) => this.#end({ event: 'channel-closed', detail: why }))
  }

  /** Opens a channel and consumes. Rejects without leaving anything behind. */
  static async open(number: number, connection: AmqpConnection, plan: GenerationPlan): Promise<Generation> {
    const { queue, prefetch } = plan.settings
    const channel = await within(ANSWER_WITHIN_MS, 'open channel', connection.createChannel())
    const generation = new Generation(number, channel, plan)
    const consumerTag = generation.#consumerTag
    try {
      await within(ANSWER_WITHIN_MS, 'set prefetch', channel.prefetch(prefetch))
      // The consumer tag is chosen here: a message, or the end, may come before the answer does.
      const consuming = channel.consume(queue, (raw) => generation.#receive(raw), { consumerTag })
      await within(ANSWER_WITHIN_MS, `consume ${queue}`, consuming)
      return generation
    } catch (error) {
      generation.#isLive = false
      generation.#arrivals.shut()
      void closeQuietly(channel)
      throw error
    }
  }

  get isLive(): boolean {
    return this.#isLive
  }

  pause(): void {
    this.#arrivals.pause()
  }

  resume(): void {
    this.#arrivals.resume()
  }

  settle({ tag, ticket }: RabbitDelivery): boolean {
    if (!this.#isLive) return false
    this.#window.finish(tag, ticket)
    if (!this.#settings.ackBatch) return this.#send(this.#window.takeFrames(true))
    this.#finishedSinceFlush++
    if (this.#finishedSinceFlush * 2 >= this.#settings.prefetch) this.#flush()
    else this.#scheduleFlush()
    return true
  }

  /**
   * No delivery is handed over any more, and what was not handed over goes back. With a single active consumer nothing
   * goes back before the channel closes: the next consumer would start with later messages while these still run.
   */
  async stopIntake(): Promise<void> {
    this.#arrivals.shut()
    if (!this.#isLive || this.#settings.singleActiveConsumer) return
    await this.#cancel()
    for (const { tag, ticket } of this.#arrivals.takeHeld()) {
      if (!this.#isLive) return
      this.#window.settledAlone(tag, ticket)
      this.#framesSent++
      this.#attempt(() => this.#channel.nack(tagged(tag), false, true))
    }
  }

  /** Sends the acks that are due and waits until the broker has heeded them, then closes the channel. */
  async close(): Promise<void> {
    this.#arrivals.shut()
    if (!this.#isLive) return
    this.#send(this.#window.takeFrames(true))
    this.#isLive = false
    if (this.#framesSent > FRAMES_HEEDED) await sleep(FRAMES_HEEDED_AFTER_MS)
    if (!this.#isSilent) await closeQuietly(this.#channel)
  }

  /** What amqplib calls: it must not throw. */
  #receive(raw: AmqpMessage | null): void {
    if (!this.#isLive) return
    if (raw === null) {
      void this.#leaveCancelled()
      return
    }
    const message = new RabbitMessage(raw, this.#settings.queue, this.number)
    const tag = raw.fields.deliveryTag
    const place = { tag, ticket: this.#window.receive(tag), lane: this.#hooks.laneOf(message) }
    this.#arrivals.add(new RabbitDelivery(this, message, place))
  }

  /**
   * The broker has ended the consumer. From 4.3 it may have kept a ghost of it, which a late settle would revive: so none
   * is sent, the tag is cancelled once, and the channel closed.
   */
  async #leaveCancelled(): Promise<void> {
    this.#end({ event: 'consumer-cancelled', detail: `the broker cancelled the consumer of ${this.#settings.queue}` })
    await this.#cancel()
    await closeQuietly(this.#channel)
  }

  #end(end: GenerationEnd): void {
    if (!this.#isLive) return
    this.#isLive = false
    this.#arrivals.shut()
    this.#arrivals.takeHeld()
    // A connection closes its channels before it says that it closed itself.
    queueMicrotask(() => this.#hooks.onEnd(this, end))
  }

  #scheduleFlush(): void {
    if (this.#isFlushScheduled) return
    this.#isFlushScheduled = true
    setImmediate(() => {
      this.#isFlushScheduled = false
      this.#flush()
    })
  }

  #flush(): void {
    this.#finishedSinceFlush = 0
    if (this.#isLive) this.#send(this.#window.takeFrames())
  }

  #send(frames: readonly AckFrame[]): boolean {
    this.#framesSent += frames.length
    return frames.every(({ tag, multiple, settles }) => {
      const isSent = this.#attempt(() => this.#channel.ack(tagged(tag), multiple))
      if (isSent) this.#hooks.onSettled(settles)
      return isSent
    })
  }

  /** Rejected, or never answered, by a channel that ends. */
  async #cancel(): Promise<void> {
    try {
      await within(CANCEL_WITHIN_MS, 'cancel', this.#channel.cancel(this.#consumerTag))
    } catch (error) {
      if (error instanceof NoAnswerError) this.#isSilent = true
    }
  }

  /** A closing channel throws, and its `close` is about to come: the redelivery finds the mark. */
  #attempt(frame: () => void): boolean {
    try {
      frame()
      return true
    } catch {
      return false
    }
  }
}

interface GenerationPlan {
  readonly settings: RabbitSettings
  readonly hooks: GenerationHooks
  readonly isPaused: boolean
}

function tagged(deliveryTag: number): { readonly fields: { readonly deliveryTag: number } } {
  return { fields: { deliveryTag } }
}
