import {
  backoffMs,
  describeError,
  runInline,
  systemClock,
  systemEntropy,
  type Backoff,
  type Consumer,
  type Health,
  type InlineRunning,
  type Message,
  type Publisher,
  type StopOptions,
} from '../../../src/index.ts'
import { placeOfConnection } from '../connection/connector.ts'
import { Arrivals } from '../consuming/arrivals.ts'
import { Counts } from '../consuming/counts.ts'
import { enterQueue } from '../consuming/queue-registry.ts'
import { RabbitMessage } from '../consuming/message.ts'
import type { AmqpMessage } from '../slice.ts'
import { watchEnd, type OwnChannel } from './channel.ts'
import { REFUSES_DEAD_LETTERS, rabbitDeadLetters } from './dead-letters.ts'
import { DropInDelivery, type Origin } from './delivery.ts'
import { Frames } from './frames.ts'
import type { OnMessageOptions } from './options.ts'

const OPEN_STORE_AGAIN: Backoff = { initialMs: 100, maxMs: 10_000 }

/** How many there were in this process: tells the tags of one channel from those of another. */
let made = 0

/** Handles what is delivered to one function, on one channel, for as long as that channel lives. */
export class DropInConsumer {
  readonly #number = ++made
  readonly #queue: string
  readonly #lane: OnMessageOptions['lane']
  readonly #frames: Frames
  readonly #rejected = new WeakSet<Message>()
  readonly #inline: InlineRunning
  readonly #arrivals: Arrivals<DropInDelivery>
  readonly #unwatch: () => void
  readonly #leaveQueue: () => void
  readonly #counts = new Counts()
  /** Of the deliveries that came since the broker last ended the consumer. */
  #origin: Origin
  /** `cancelled`: by the broker; over when something is delivered again, since somebody consumes again. */
  #source: 'consuming' | 'cancelled' | 'closed' = 'consuming'
  #closedBecause = ''
  #cancelOpening: () => void = () => {}
  #stopped: Promise<void> | undefined

  constructor(channel: OwnChannel, consumer: Consumer, { queue, lane, deadLetter }: OnMessageOptions) {
    this.#queue = queue ?? (consumer as Consumer | undefined)?.name ?? ''
    this.#lane = lane
    this.#inline = runInline(consumer, { group: this.#queue, publisher: this.#publisherFor(deadLetter) })
    this.#leaveQueue = enterQueue(placeOfConnection(channel), this.#queue, consumer.name)
    this.#frames = new Frames(channel)
    this.#origin = this.#newOrigin()
    // Paused: until the store is open, what comes waits here.
    this.#arrivals = new Arrivals((deliveries) => this.#inline.deliver(deliveries), true)
    this.#unwatch = watchEnd(channel, (why) => this.#channelClosed(why))
    void this.#openStore(1)
  }

  /** What amqplib calls: it must not throw. */
  take(raw: AmqpMessage | null): void {
    if (this.#source === 'closed' || this.#stopped !== undefined) return
    if (raw === null) return this.#cancelled()
    this.#source = 'consuming'
    const message = new RabbitMessage(raw, this.#queue, this.#number)
    this.#arrivals.add(
      new DropInDelivery(this.#origin, { message, tag: raw.fields.deliveryTag, lane: this.#laneOf(message) }),
    )
  }

  stop(options?: StopOptions): Promise<void> {
    this.#stopped ??= this.#stop(options)
    return this.#stopped
  }

  health(): Health {
    const health = this.#inline.health()
    return {
      ...health,
      ready: health.ready && this.#source === 'consuming',
      checks: { ...health.checks, source: this.#sourceForPeople() },
      counts: this.#counts.all(),
    }
  }

  #sourceForPeople(): string {
    switch (this.#source) {
      case 'consuming':
        return this.#stopped === undefined ? 'ok' : 'stopped'
      case 'cancelled':
        return 'the broker has ended the consumer: consume again'
      case 'closed':
        return `the channel is closed: ${this.#closedBecause}`
    }
  }

  /** Each further one begins a new life: what came before can never be settled. */
  #newOrigin(): Origin {
    const origin: Origin = {
      isLive: true,
      rejected: this.#rejected,
      send: (frame, tag) => {
        const isSent = this.#frames.send(frame, tag)
        if (isSent && frame !== 'hand-back') this.#inline.report({ type: 'settles', count: 1 })
        return isSent
      },
    }
    return origin
  }

  #endOrigin(): void {
    this.#origin.isLive = false
    this.#arrivals.takeHeld()
    this.#inline.standingChanged()
  }

  /** A settle of what it had delivered would be refused by the broker, or revive its ghost (from 4.3). */
  #cancelled(): void {
    this.#endOrigin()
    this.#origin = this.#newOrigin()
    this.#source = 'cancelled'
    this.#report('consumer-cancelled', `the broker has ended the consumer of ${this.#queue}`)
  }

  #channelClosed(why: string): void {
    this.#source = 'closed'
    this.#closedBecause = why
    this.#endOrigin()
    const isNoAck = why.includes('unknown delivery tag')
    this.#report(
      'channel-closed',
      isNoAck ? `${why} (was it consumed with noAck: true, or settled elsewhere too?)` : why,
    )
    // Aborted handlers may still mark. A dead letter that nobody takes must not be tried for ever, once for each channel.
    void this.stop({ deadlineMs: this.#inline.capacity.longestRunMs })
  }

  /** It may be down for long: deliveries wait, unacked. */
  async #openStore(attempt: number): Promise<void> {
    try {
      await this.#inline.open()
      this.#arrivals.resume()
    } catch (error) {
      if (this.#stopped !== undefined) return
      const delayMs = backoffMs(attempt, OPEN_STORE_AGAIN, systemEntropy.fraction())
      this.#report('store-not-opened', `attempt ${attempt}: ${describeError(error)}`)
      this.#cancelOpening = systemClock.after(delayMs, () => void this.#openStore(attempt + 1))
    }
  }

  async #stop(options: StopOptions | undefined): Promise<void> {
    this.#cancelOpening()
    this.#arrivals.shut()
    for (const delivery of this.#arrivals.takeHeld()) delivery.handBack()
    try {
      await this.#inline.stop(options)
      if (this.#origin.isLive) await this.#frames.heeded()
    } finally {
      this.#unwatch()
      this.#leaveQueue()
      this.#origin.isLive = false
    }
  }

  #publisherFor(deadLetter: OnMessageOptions['deadLetter']): Publisher {
    if (deadLetter === undefined) return REFUSES_DEAD_LETTERS
    if (deadLetter !== 'reject') return rabbitDeadLetters(deadLetter.publisher, deadLetter.queue)
    return { deadLetter: async ({ message }) => void this.#rejected.add(message) }
  }

  #laneOf(message: RabbitMessage): string | undefined {
    try {
      return this.#lane?.(message)
    } catch (error) {
      this.#report('lane-failed', `${message.position}: ${describeError(error)}`)
      return undefined
    }
  }

  /** Nothing of which belongs to a normal day. */
  #report(event: string, detail: string): void {
    this.#counts.add(event)
    this.#inline.report({ type: 'source', event, detail, isWarning: true })
  }
}
