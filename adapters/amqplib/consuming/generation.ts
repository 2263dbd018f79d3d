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

/**
 *   consuming ──> cancelling ──> cancelled ──> dead
 *       └──────────────┴──> leaving-by-close ──> dead          any of them ──> dead
 *
 * While the consumer lives, it could get back what is returned. So from the begin of a stop on that waits: until the
 * broker has ended the consumer, or until the channel closes, which returns all that is not settled.
 */
type State =
  | { readonly is: 'consuming' }
  | { readonly is: 'cancelling'; readonly goingBack: RabbitDelivery[]; readonly cancelled: Promise<void> }
  /** `heeded`: settle frames that the broker has processed, at least. */
  | { readonly is: 'cancelled'; readonly heeded: number }
  /** `isSilent`: the broker did not answer the cancel. Ask nothing more, the connection will be closed. */
  | { readonly is: 'leaving-by-close'; readonly isSilent: boolean }
  | { readonly is: 'dead' }

/** One life of the consuming channel. Its end ends the standing of all its deliveries. */
export class Generation {
  readonly #plan: GenerationPlan
  readonly #channel: AmqpChannel
  readonly #consumerTag = `consume-once-${systemEntropy.ownerToken()}`
  readonly #acks: Acks
  readonly #arrivals: Arrivals<RabbitDelivery>
  #state: State = { is: 'consuming' }
  #received = 0

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
    return this.#state.is !== 'dead'
  }

  /** Identifies the last delivery, if all are settled and no stop has begun; `undefined` if something is in flight. */
  get quietAfter(): string | undefined {
    const isQuiet = this.#state.is === 'consuming' && this.#acks.areComplete
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
    if (!this.isLive) this.#plan.hooks.onStale()
    else if (!this.#hasDelivered(delivery)) return false
    else if (ownFrame === undefined) return this.#acks.settle(tag, ticket)
    else if (this.#acks.settleAlone(tag, ticket, ownFrame)) {
      this.#plan.hooks.onSettled(1)
      return true
    }
    return false
  }

  /** Returns a delivery to the queue: at once, or as soon as this consumer cannot get it back. */
  handBack(delivery: RabbitDelivery): boolean {
    const state = this.#state
    if (state.is === 'dead' || !this.#hasDelivered(delivery)) return false
    if (state.is === 'consuming' || state.is === 'cancelled') return this.#sendBack(delivery)
    if (state.is === 'cancelling') state.goingBack.push(delivery)
    return true
  }

  /**
   * Hands no further delivery over, and returns those that were not handed over. With a single active consumer nothing
   * is returned before the channel closes: the next consumer would start with later messages while these still run.
   */
  async stopIntake(): Promise<void> {
    if (this.#state.is === 'cancelling') return this.#state.cancelled
    if (this.#state.is !== 'consuming') return
    this.#arrivals.shut()
    if (this.#plan.settings.singleActiveConsumer) this.#state = { is: 'leaving-by-close', isSilent: false }
    else {
      const cancelled = this.#cancelled(this.#acks.sent)
      // The client may tell of the end of the channel while it is asked.
      if (this.isLive) this.#state = { is: 'cancelling', goingBack: [], cancelled }
      await cancelled
    }
  }

  async #cancelled(heeded: number): Promise<void> {
    const hasEnded = await this.#cancel()
    const state = this.#state
    if (state.is !== 'cancelling') return
    this.#state = hasEnded ? { is: 'cancelled', heeded } : { is: 'leaving-by-close', isSilent: true }
    if (hasEnded) for (const delivery of [...state.goingBack, ...this.#arrivals.takeHeld()]) this.#sendBack(delivery)
  }

  /**
   * Returns everything that is not settled, and closes: others get it at once. Under a single active consumer the close
   * itself returns it, in order.
   */
  async leave(): Promise<void> {
    await this.stopIntake()
    if (this.#state.is === 'cancelled') this.#acks.returnAll()
    await this.close()
  }

  /** Sends the acks that are due, waits until the broker has processed them, then closes the channel. */
  async close(): Promise<void> {
    const state = this.#state
    if (state.is === 'dead') return
    this.#acks.finish()
    this.#goDead()
    const heeded = state.is === 'cancelled' ? state.heeded : 0
    let isSilent = state.is === 'leaving-by-close' && state.isSilent
    if (!isSilent && this.#acks.sent - heeded > FRAMES_HEEDED) isSilent = !(await this.#untilHeeded()) // mutant: rabbit-closed-before-its-acks
    // Also for a silent broker: on a lent connection the consumer would otherwise take messages for ever.
    const closing = closeQuietly(this.#channel)
    if (!isSilent) await closing
  }

  /**
   * The consumer has ended. The broker may have kept a ghost of it, which a late settle would revive (from 4.3), or
   * which takes messages (3.10). So no settle is sent, the tag is cancelled once, and the channel is closed.
   */
  async endConsumer(end: GenerationEnd): Promise<void> {
    if (!this.isLive) return
    this.#end(end)
    await this.#cancel()
    await closeQuietly(this.#channel)
  }

  /** Called by amqplib: it must not throw. */
  #receive(raw: AmqpMessage | null): void {
    if (!this.isLive) return
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
    if (!this.isLive) return
    this.#goDead()
    // A connection closes its channels before it reports its own close.
    queueMicrotask(() => this.#plan.hooks.onEnd(this, end))
  }

  #goDead(): void {
    this.#state = { is: 'dead' }
    this.#acks.end()
    this.#arrivals.shut()
    this.#arrivals.takeHeld()
  }

  #cancel(): Promise<boolean> {
    return isAnswered(() => answerWithin(CANCEL_WITHIN_MS, 'cancel', this.#channel.cancel(this.#consumerTag)))
  }

  #untilHeeded(): Promise<boolean> {
    const { settings, countsReturns } = this.#plan
    return isAnswered(() =>
      countsReturns && !settings.singleActiveConsumer
        ? untilRead(this.#channel)
        : untilHeeded(this.#channel, settings.queue, `${this.#consumerTag}-last`),
    )
  }
}

/** `false`: the broker is silent. A channel that ends rejects what it is asked, or never answers it. */
async function isAnswered(ask: () => Promise<unknown>): Promise<boolean> {
  try {
    await ask()
    return true
  } catch (error) {
    return !(error instanceof NoAnswerError)
  }
}
