import { setTimeout as sleep } from 'node:timers/promises'
import { systemEntropy } from '../../src/index.ts'
import { Acks } from './acks.ts'
import { Arrivals } from './arrivals.ts'
import { closeQuietly } from './close.ts'
import { RabbitDelivery } from './delivery.ts'
import { RabbitMessage } from './message.ts'
import type { RabbitSettings } from './options.ts'
import type { AmqpChannel, AmqpConnection, AmqpMessage } from './slice.ts'
import { watch } from './watch.ts'
import { NoAnswerError, within } from './within.ts'

const ANSWER_WITHIN_MS = 15_000
const CANCEL_WITHIN_MS = 5_000
/** A quorum queue that got many settle frames needs so long to heed them all before a close. */
const FRAMES_HEEDED_AFTER_MS = 100

export interface GenerationEnd {
  /** `consumer-cancelled`: by the broker; its queue was deleted, or its timeout ran out. */
  readonly event: 'channel-closed' | 'consumer-cancelled'
  readonly detail: string
}

export interface GenerationHooks {
  readonly deliver: (deliveries: readonly RabbitDelivery[]) => void
  readonly laneOf: (message: RabbitMessage) => string | undefined
  /** The broker was told about so many deliveries. */
  readonly onSettled: (count: number) => void
  /** Called at most once, after the callbacks of the client; not when it was closed from here. */
  readonly onEnd: (generation: Generation, end: GenerationEnd) => void
}

export interface GenerationPlan {
  readonly number: number
  readonly settings: RabbitSettings
  readonly hooks: GenerationHooks
  readonly isPaused: boolean
}

/** One life of the consuming channel. What ends it ends the standing of all its deliveries. */
export class Generation {
  readonly #plan: GenerationPlan
  readonly #channel: AmqpChannel
  readonly #consumerTag = `consume-once-${systemEntropy.ownerToken()}`
  readonly #acks: Acks
  readonly #arrivals: Arrivals<RabbitDelivery>
  #isLive = true
  /** The broker owes an answer: no use in asking more, the connection goes. */
  #isSilent = false

  private constructor(channel: AmqpChannel, plan: GenerationPlan) {
    this.#channel = channel
    this.#plan = plan
    this.#acks = new Acks(channel, plan.settings, plan.hooks.onSettled)
    this.#arrivals = new Arrivals(plan.hooks.deliver, plan.isPaused)
    watch(channel, (why) => this.#end({ event: 'channel-closed', detail: why }))
  }

  /** Opens a channel and consumes. Rejects without leaving anything behind. */
  static async open(connection: AmqpConnection, plan: GenerationPlan): Promise<Generation> {
    const { queue, prefetch } = plan.settings
    const channel = await within(ANSWER_WITHIN_MS, 'open channel', connection.createChannel())
    const generation = new Generation(channel, plan)
    const consumerTag = generation.#consumerTag
    try {
      await within(ANSWER_WITHIN_MS, 'set prefetch', channel.prefetch(prefetch))
      // The consumer tag is chosen here: a message, or the end, may come before the answer does.
      const consuming = channel.consume(queue, (raw) => generation.#receive(raw), { consumerTag })
      await within(ANSWER_WITHIN_MS, `consume ${queue}`, consuming)
      return generation
    } catch (error) {
      generation.#goDead()
      void closeQuietly(channel)
      throw error
    }
  }

  get number(): number {
    return this.#plan.number
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
    return this.#isLive && this.#acks.settle(tag, ticket)
  }

  /**
   * No delivery is handed over any more, and what was not handed over goes back. With a single active consumer nothing
   * goes back before the channel closes: the next consumer would start with later messages while these still run.
   */
  async stopIntake(): Promise<void> {
    this.#arrivals.shut()
    if (!this.#isLive || this.#plan.settings.singleActiveConsumer) return
    await this.#cancel()
    for (const { tag, ticket } of this.#arrivals.takeHeld()) this.#acks.handBack(tag, ticket)
  }

  /** Sends the acks that are due and waits until the broker has heeded them, then closes the channel. */
  async close(): Promise<void> {
    if (!this.#isLive) return
    this.#acks.finish()
    this.#goDead()
    if (this.#acks.areMany) await sleep(FRAMES_HEEDED_AFTER_MS)
    if (!this.#isSilent) await closeQuietly(this.#channel)
  }

  /** What amqplib calls: it must not throw. */
  #receive(raw: AmqpMessage | null): void {
    if (!this.#isLive) return
    if (raw === null) {
      void this.#leaveCancelled()
      return
    }
    const message = new RabbitMessage(raw, this.#plan.settings.queue, this.number)
    const tag = raw.fields.deliveryTag
    const place = { tag, ticket: this.#acks.receive(tag), lane: this.#plan.hooks.laneOf(message) }
    this.#arrivals.add(new RabbitDelivery(this, message, place))
  }

  /**
   * The broker has ended the consumer. From 4.3 it may have kept a ghost of it, which a late settle would revive: so none
   * is sent, the tag is cancelled once, and the channel closed.
   */
  async #leaveCancelled(): Promise<void> {
    this.#end({
      event: 'consumer-cancelled',
      detail: `the broker cancelled the consumer of ${this.#plan.settings.queue}`,
    })
    await this.#cancel()
    await closeQuietly(this.#channel)
  }

  #end(end: GenerationEnd): void {
    if (!this.#isLive) return
    this.#goDead()
    // A connection closes its channels before it says that it closed itself.
    queueMicrotask(() => this.#plan.hooks.onEnd(this, end))
  }

  #goDead(): void {
    this.#isLive = false
    this.#acks.end()
    this.#arrivals.shut()
    this.#arrivals.takeHeld()
  }

  /** Rejected, or never answered, by a channel that ends. */
  async #cancel(): Promise<void> {
    try {
      await within(CANCEL_WITHIN_MS, 'cancel', this.#channel.cancel(this.#consumerTag))
    } catch (error) {
      if (error instanceof NoAnswerError) this.#isSilent = true
    }
  }
}
