import { InvariantError, systemEntropy } from '../../../src/internal.ts'
import { Acks } from '../settling/acks.ts'
import { FRAMES_HEEDED, untilHeeded, untilRead } from '../settling/heeded.ts'
import { Arrivals } from './arrivals.ts'
import { contextOf, isInstrumented } from './instrumented.ts'
import { closeQuietly } from '../connection/close.ts'
import { openChannel } from '../connection/open-channel.ts'
import { RabbitDelivery } from './delivery.ts'
import { RabbitMessage } from '../message/message.ts'
import type { FittedSettings } from '../options/fit.ts'
import type { AmqpChannel, AmqpConnection, AmqpMessage } from '../amqplib-like.ts'
import { watch } from '../connection/watch.ts'
import { answerWithin, NoAnswerError } from '../connection/answer-within.ts'

const ANSWER_WITHIN_MS = 15_000
const CANCEL_WITHIN_MS = 5_000

export interface GenerationEnd {
  /**
   * `consumer-cancelled`: the broker cancelled the consumer, because its queue was deleted or its timeout ran out.
   * `consumer-stalled`: without a word, the broker delivers nothing to it. `invariant-broken`: a settle was refused
   * because it must not be sent.
   */
  readonly event: 'channel-closed' | 'consumer-cancelled' | 'consumer-stalled' | 'invariant-broken'
  readonly detail: string
}

export interface GenerationHooks {
  readonly deliver: (deliveries: readonly RabbitDelivery[]) => void
  readonly laneOf: (message: RabbitMessage) => string | undefined
  /** Called on arrival, before anything else. */
  readonly onArrival: (message: RabbitMessage) => void
  /** A delivery of a closed channel was to be settled: nothing was sent. */
  readonly onStale: () => void
  readonly onHandedBack: () => void
  /** The broker was told about `count` deliveries. */
  readonly onSettled: (count: number) => void
  readonly onBroken: (error: Error) => void
  /** Called at most once, after the callbacks of the client; not after `close()`. */
  readonly onEnd: (generation: Generation, end: GenerationEnd) => void
}

export interface GenerationPlan {
  readonly number: number
  readonly settings: FittedSettings
  /** Consumer arguments that the server accepts. */
  readonly consumeArguments: Readonly<Record<string, unknown>>
  /** A message that is given back comes closer to the delivery limit of its queue: so before RabbitMQ 4.3. */
  readonly countsReturns: boolean
  readonly hooks: GenerationHooks
  readonly isPaused: boolean
}

/** One life of the consuming channel. Its end ends the standing of all its deliveries. */
export class Generation {
  readonly #plan: GenerationPlan
  readonly #channel: AmqpChannel
  readonly #consumerTag = `consume-once-${systemEntropy.ownerToken()}`
  readonly #acks: Acks
  readonly #arrivals: Arrivals<RabbitDelivery>
  /**
   * Deliveries that must not come back to this consumer. They are returned after the broker has ended the consumer.
   * `undefined`: not stopping.
   */
  #goingBack: RabbitDelivery[] | undefined
  #isCancelled = false
  /** Settle frames that the broker has processed, at least. */
  #heeded = 0
  #isLive = true
  #received = 0
  /** The broker did not answer a request: ask nothing more, the connection will be closed. */
  #isSilent = false

  private constructor(channel: AmqpChannel, plan: GenerationPlan) {
    this.#channel = channel
    this.#plan = plan
    const { onSettled } = plan.hooks
    this.#acks = new Acks(channel, plan.settings, { onSettled, onBroken: (error) => this.#broken(error) })
    this.#arrivals = new Arrivals(plan.hooks.deliver, plan.isPaused)
    watch(channel, (why) => this.#end({ event: 'channel-closed', detail: why }))
  }

  /** Opens a channel and consumes. If it rejects, it leaves nothing behind. */
  static async open(connection: AmqpConnection, plan: GenerationPlan): Promise<Generation> {
    const { queue, prefetch } = plan.settings
    const channel = await openChannel(connection.createChannel(), ANSWER_WITHIN_MS)
    const generation = new Generation(channel, plan) // mutant: ack-on-a-new-channel
    const options = { consumerTag: generation.#consumerTag, arguments: plan.consumeArguments }
    try {
      await answerWithin(ANSWER_WITHIN_MS, 'set prefetch', channel.prefetch(prefetch))
      // The consumer tag is chosen here, because a message or the end may come before the answer.
      const consuming = channel.consume(queue, (raw) => generation.#receive(raw), options)
      await answerWithin(ANSWER_WITHIN_MS, `consume ${queue}`, consuming)
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

  /** Identifies the last delivery, if all are settled and no stop has begun; `undefined` if something is in flight. */
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
  // mutant: ack-on-a-new-channel 2
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
   * Returns a delivery to the queue. This consumer could get it back, so during a stop the return waits until the
   * consumer has ended, and with a single active consumer until the channel has closed.
   */
  handBack(delivery: RabbitDelivery): boolean {
    if (!this.#isLive || !this.#hasDelivered(delivery)) return false
    if (this.#goingBack === undefined || this.#isCancelled) return this.#sendBack(delivery)
    this.#goingBack.push(delivery)
    return true
  }

  /**
   * Hands no further delivery over, and returns those that were not handed over. With a single active consumer nothing
   * is returned before the channel closes: the next consumer would start with later messages while these still run.
   */
  async stopIntake(): Promise<void> {
    this.#arrivals.shut()
    this.#goingBack = []
    if (!this.#isLive || this.#plan.settings.singleActiveConsumer) return
    const { sent } = this.#acks
    await this.#cancel()
    this.#isCancelled = !this.#isSilent
    if (!this.#isCancelled) return
    this.#heeded = sent
    for (const delivery of [...this.#goingBack, ...this.#arrivals.takeHeld()]) this.#sendBack(delivery)
    this.#goingBack = []
  }

  /**
   * Returns everything that is not settled, and closes: others get it at once. Under a single active consumer the close
   * itself returns it, in order.
   */
  async leave(): Promise<void> {
    await this.stopIntake()
    if (this.#isLive && this.#isCancelled) this.#acks.returnAll()
    await this.close()
  }

  /** Sends the acks that are due, waits until the broker has processed them, then closes the channel. */
  async close(): Promise<void> {
    if (!this.#isLive) return
    this.#acks.finish()
    this.#goDead()
    if (this.#acks.sent - this.#heeded > FRAMES_HEEDED) await this.#untilHeeded() // mutant: rabbit-closed-before-its-acks
    // Also for a silent broker: on a lent connection the consumer would otherwise take messages for ever.
    const closing = closeQuietly(this.#channel)
    if (!this.#isSilent) await closing
  }

  /**
   * The consumer has ended. The broker may have kept a ghost of it, which a late settle would revive (from 4.3), or
   * which takes messages (3.10). So no settle is sent, the tag is cancelled once, and the channel is closed.
   */
  async endConsumer(end: GenerationEnd): Promise<void> {
    if (!this.#isLive) return
    this.#end(end)
    await this.#cancel()
    await closeQuietly(this.#channel)
  }

  /** Called by amqplib: it must not throw. */
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
    const ticket = this.#acks.receive(tag, isInstrumented(raw) ? raw : undefined)
    const place = { tag, ticket, lane: this.#plan.hooks.laneOf(message), within: contextOf(raw) }
    this.#arrivals.add(new RabbitDelivery(this, message, place))
  }

  /** The same tag is a different message on each channel. */
  #hasDelivered({ generation, tag }: RabbitDelivery): boolean {
    if (generation === this) return true // mutant: ack-on-a-new-channel 3
    const found = `tag ${tag} of generation ${generation.number} on generation ${this.number}`
    this.#broken(new InvariantError('generation.hasDelivered', found))
    return false
  }

  /** Settles nothing more: unsettled messages come again, on the next channel. */
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
    // A connection closes its channels before it reports its own close.
    queueMicrotask(() => this.#plan.hooks.onEnd(this, end))
  }

  #goDead(): void {
    this.#isLive = false
    this.#acks.end()
    this.#arrivals.shut()
    this.#arrivals.takeHeld()
  }

  async #cancel(): Promise<void> {
    await this.#asked(() => answerWithin(CANCEL_WITHIN_MS, 'cancel', this.#channel.cancel(this.#consumerTag)))
  }

  async #untilHeeded(): Promise<void> {
    if (this.#isSilent) return
    const { settings, countsReturns } = this.#plan
    await this.#asked(() =>
      countsReturns && !settings.singleActiveConsumer
        ? untilRead(this.#channel)
        : untilHeeded(this.#channel, settings.queue, `${this.#consumerTag}-last`),
    )
  }

  /** A channel that ends rejects what it is asked, or never answers it. */
  async #asked(ask: () => Promise<unknown>): Promise<void> {
    try {
      await ask()
    } catch (error) {
      if (error instanceof NoAnswerError) this.#isSilent = true
    }
  }
}
