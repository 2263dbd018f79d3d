import { setTimeout as sleep } from 'node:timers/promises'
import { InvariantError, systemEntropy } from '../../../src/index.ts'
import { Acks } from '../settling/acks.ts'
import { FRAMES_HEEDED_AFTER_MS } from '../settling/heeded.ts'
import { Arrivals } from './arrivals.ts'
import { closeQuietly } from '../connection/close.ts'
import { openChannel } from '../connection/open-channel.ts'
import { RabbitDelivery } from './delivery.ts'
import { RabbitMessage } from './message.ts'
import type { FittedSettings } from '../options/fit.ts'
import type { AmqpChannel, AmqpConnection, AmqpMessage } from '../slice.ts'
import { watch } from '../connection/watch.ts'
import { NoAnswerError, within } from '../connection/within.ts'

const ANSWER_WITHIN_MS = 15_000
const CANCEL_WITHIN_MS = 5_000

export interface GenerationEnd {
  /**
   * `consumer-cancelled`: by the broker; its queue was deleted, or its timeout ran out. `consumer-stalled`: nobody said so,
   * but the broker delivers nothing to it. `invariant-broken`: a settle was refused that must not be sent.
   */
  readonly event: 'channel-closed' | 'consumer-cancelled' | 'consumer-stalled' | 'invariant-broken'
  readonly detail: string
}

export interface GenerationHooks {
  readonly deliver: (deliveries: readonly RabbitDelivery[]) => void
  readonly laneOf: (message: RabbitMessage) => string | undefined
  /** As it arrives, before anything else. */
  readonly onArrival: (message: RabbitMessage) => void
  /** A delivery of a channel that is gone was to be settled: nothing was sent. */
  readonly onStale: () => void
  readonly onHandedBack: () => void
  /** The broker was told about so many deliveries. */
  readonly onSettled: (count: number) => void
  readonly onBroken: (error: Error) => void
  /** Called at most once, after the callbacks of the client; not when it was closed from here. */
  readonly onEnd: (generation: Generation, end: GenerationEnd) => void
}

export interface GenerationPlan {
  readonly number: number
  readonly settings: FittedSettings
  /** For the consumer, as the server takes them. */
  readonly consumeArguments: Readonly<Record<string, unknown>>
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
  /** What must not come back here: it waits until the broker has ended the consumer. `undefined`: not stopping. */
  #goingBack: RabbitDelivery[] | undefined
  #isCancelled = false
  #isLive = true
  #received = 0
  /** The broker owes an answer: no use in asking more, the connection goes. */
  #isSilent = false

  private constructor(channel: AmqpChannel, plan: GenerationPlan) {
    this.#channel = channel
    this.#plan = plan
    const { onSettled } = plan.hooks
    this.#acks = new Acks(channel, plan.settings, { onSettled, onBroken: (error) => this.#broken(error) })
    this.#arrivals = new Arrivals(plan.hooks.deliver, plan.isPaused)
    watch(channel, (why) => this.#end({ event: 'channel-closed', detail: why }))
  }

  /** Opens a channel and consumes. Rejects without leaving anything behind. */
  static async open(connection: AmqpConnection, plan: GenerationPlan): Promise<Generation> {
    const { queue, prefetch } = plan.settings
    const channel = await openChannel(connection.createChannel(), ANSWER_WITHIN_MS)
    const generation = new Generation(channel, plan)
    const options = { consumerTag: generation.#consumerTag, arguments: plan.consumeArguments }
    try {
      await within(ANSWER_WITHIN_MS, 'set prefetch', channel.prefetch(prefetch))
      // The consumer tag is chosen here: a message, or the end, may come before the answer does.
      const consuming = channel.consume(queue, (raw) => generation.#receive(raw), options)
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

  /** The last delivery that came, if all are settled and no stop has begun; `undefined`: something is under way. */
  get quietAfter(): string | undefined {
    const isQuiet = this.#isLive && this.#goingBack === undefined && this.#acks.areComplete
    return isQuiet ? `${this.number}/${this.#received}` : undefined
  }

  pause(): void {
    this.#arrivals.pause()
  }

  resume(): void {
    this.#arrivals.resume()
  }

  /** By an ack, or by the frame noted on its message. */
  settle(delivery: RabbitDelivery): boolean {
    const { message, tag, ticket } = delivery
    const { ownFrame } = message
    if (!this.#isLive) this.#plan.hooks.onStale()
    else if (!this.#hasDelivered(delivery)) return false
    else if (ownFrame === undefined) return this.#acks.settle(tag, ticket)
    else if (this.#acks.settleAlone(tag, ticket, ownFrame)) {
      this.#plan.hooks.onSettled(1)
      return true
    }
    return false
  }

  /**
   * Back to the queue, for whoever comes. While this consumer takes deliveries that may be itself: during a stop it waits
   * for the end of the consumer, and with a single active consumer for that of the channel.
   */
  handBack(delivery: RabbitDelivery): boolean {
    if (!this.#isLive || !this.#hasDelivered(delivery)) return false
    if (this.#goingBack === undefined || this.#isCancelled) return this.#sendBack(delivery)
    this.#goingBack.push(delivery)
    return true
  }

  /**
   * No delivery is handed over any more, and what was not handed over goes back. With a single active consumer nothing
   * goes back before the channel closes: the next consumer would start with later messages while these still run.
   */
  async stopIntake(): Promise<void> {
    this.#arrivals.shut()
    this.#goingBack = []
    if (!this.#isLive || this.#plan.settings.singleActiveConsumer) return
    await this.#cancel()
    this.#isCancelled = !this.#isSilent
    if (!this.#isCancelled) return
    for (const delivery of [...this.#goingBack, ...this.#arrivals.takeHeld()]) this.#sendBack(delivery)
    this.#goingBack = []
  }

  /** Sends the acks that are due and waits until the broker has heeded them, then closes the channel. */
  async close(): Promise<void> {
    if (!this.#isLive) return
    this.#acks.finish()
    this.#goDead()
    if (this.#acks.areMany) await sleep(FRAMES_HEEDED_AFTER_MS)
    // Also asked of a broker that is silent: on a lent connection the consumer would take messages for ever.
    const closing = closeQuietly(this.#channel)
    if (!this.#isSilent) await closing
  }

  /**
   * The consumer is none any more. The broker may have kept a ghost of it, which a late settle would revive (from 4.3), or
   * which takes messages (3.10): so none is sent, the tag is cancelled once, and the channel closed.
   */
  async endConsumer(end: GenerationEnd): Promise<void> {
    if (!this.#isLive) return
    this.#end(end)
    await this.#cancel()
    await closeQuietly(this.#channel)
  }

  /** What amqplib calls: it must not throw. */
  #receive(raw: AmqpMessage | null): void {
    if (!this.#isLive) return
    if (raw === null) {
      const { queue } = this.#plan.settings
      void this.endConsumer({
        event: 'consumer-cancelled',
        detail: `the broker cancelled the consumer of ${queue}`,
      })
      return
    }
    this.#received++
    const message = new RabbitMessage(raw, this.#plan.settings.queue, this.number)
    this.#plan.hooks.onArrival(message)
    const tag = raw.fields.deliveryTag
    const place = { tag, ticket: this.#acks.receive(tag), lane: this.#plan.hooks.laneOf(message) }
    this.#arrivals.add(new RabbitDelivery(this, message, place))
  }

  /** The same tag is another message on each channel. */
  #hasDelivered({ generation, tag }: RabbitDelivery): boolean {
    if (generation === this) return true
    const found = `tag ${tag} of generation ${generation.number} on generation ${this.number}`
    this.#broken(new InvariantError('generation.hasDelivered', found))
    return false
  }

  /** Nothing more is settled here: all that is not comes again, on the next channel. */
  #broken(error: Error): void {
    this.#plan.hooks.onBroken(error)
    void this.endConsumer({ event: 'invariant-broken', detail: error.message })
  }

  #sendBack({ tag, ticket }: RabbitDelivery): boolean {
    if (!this.#acks.settleAlone(tag, ticket, 'return')) return false
    this.#plan.hooks.onHandedBack()
    return true
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
