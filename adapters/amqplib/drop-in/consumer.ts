import {
  openInline,
  runInline,
  SourceEvents,
  stopBy,
  type Consumer,
  type DurationMs,
  type Health,
  type InlineRunning,
  type Message,
  type Publisher,
  type StopOptions,
} from '../../../src/internal.ts'
import { placeOfConnection } from '../connection/connector.ts'
import { contextOf, isInstrumented } from '../consuming/instrumented.ts'
import { Arrivals } from '../consuming/arrivals.ts'
import { enterQueue } from '../consuming/queue-registry.ts'
import { laneFrom } from '../message/lane.ts'
import { RabbitMessage } from '../message/message.ts'
import type { AmqpMessage } from '../amqplib-like.ts'
import { isStream } from '../topology/questions.ts'
import { askBeside, watchEnd, type OwnChannel } from './channel.ts'
import { REFUSES_DEAD_LETTERS, rabbitDeadLetters } from './dead-letters.ts'
import { DropInDelivery, type Origin } from './delivery.ts'
import { Frames } from './frames.ts'
import type { OnMessageOptions } from './options.ts'
import { StreamGuard } from './stream-guard.ts'

/** Number of drop-in consumers in this process. It distinguishes delivery tags of different channels. */
let made = 0

/** Handles the deliveries of one function, on one channel, while that channel lives. */
export class DropInConsumer {
  readonly #number = ++made
  readonly #queue: string
  readonly #lane: OnMessageOptions['lane']
  readonly #frames: Frames
  readonly #rejected = new WeakSet<Message>()
  readonly #inline: InlineRunning
  readonly #arrivals: Arrivals<DropInDelivery>
  readonly #streams: StreamGuard
  readonly #unwatch: () => void
  readonly #leaveQueue: () => void
  /** None of them is part of normal operation. */
  readonly #events = new SourceEvents<string>([])
  readonly #stopping = new AbortController()
  /** The origin of deliveries since the broker last cancelled the consumer. */
  #origin: Origin
  /**
   * `cancelled`: the broker cancelled the consumer. It ends with the next delivery, because then the queue is consumed
   * again.
   */
  #source: 'consuming' | 'cancelled' | 'closed' = 'consuming'
  #closedBecause = ''
  #stopped: Promise<void> | undefined

  constructor(channel: OwnChannel, consumer: Consumer, { queue, lane, deadLetter }: OnMessageOptions) {
    this.#queue = queue ?? (consumer as Consumer | undefined)?.name ?? ''
    this.#lane = lane
    this.#inline = runInline(consumer, { group: this.#queue, publisher: this.#publisherFor(deadLetter) })
    this.#leaveQueue = enterQueue(placeOfConnection(channel), this.#queue, consumer.name)
    this.#frames = new Frames(channel)
    this.#origin = this.#newOrigin()
    // Paused: deliveries wait here until the store is open.
    this.#arrivals = new Arrivals((deliveries) => this.#inline.deliver(deliveries), true)
    this.#streams = new StreamGuard({
      ask: async () =>
        queue === undefined ? undefined : isStream((what, question) => askBeside(channel, what, question), queue),
      release: (messages) => {
        for (const raw of messages) this.#arrived(raw)
      },
      report: (detail) => this.#events.report('stream-queue', detail),
    })
    this.#unwatch = watchEnd(channel, (why) => this.#channelClosed(why))
    this.#events.begin(this.#inline)
    void this.#openStore()
  }

  /** Called by amqplib: it must not throw. */
  take(raw: AmqpMessage | null): void {
    if (this.#source === 'closed' || this.#stopped !== undefined) return
    if (raw === null) return this.#cancelled()
    this.#source = 'consuming'
    if (!this.#streams.holds(raw)) this.#arrived(raw)
  }

  #arrived(raw: AmqpMessage): void {
    const message = new RabbitMessage(raw, this.#queue, this.#number)
    const { deliveryTag } = raw.fields
    this.#arrivals.add(
      new DropInDelivery(this.#origin, {
        message,
        lane: laneFrom(this.#lane, message, this.#events),
        within: contextOf(raw),
        raw: isInstrumented(raw) ? raw : { fields: { deliveryTag } },
      }),
    )
  }

  stop(options?: StopOptions): Promise<void> {
    return stopBy(options, (deadlineMs) => {
      this.#stopped ??= this.#stop(deadlineMs)
      return this.#stopped
    })
  }

  health(): Health {
    const health = this.#inline.health()
    return {
      ...health,
      ready: health.ready && this.#source === 'consuming' && this.#streams.problem === undefined,
      checks: { ...health.checks, source: this.#sourceForPeople() },
      counts: this.#events.counts,
    }
  }

  #sourceForPeople(): string {
    switch (this.#source) {
      case 'consuming':
        return this.#stopped === undefined ? (this.#streams.problem ?? 'ok') : 'stopped'
      case 'cancelled':
        return 'the broker has ended the consumer: consume again'
      case 'closed':
        return `the channel is closed: ${this.#closedBecause}`
    }
  }

  /** Each new origin ends the previous one, whose deliveries can never be settled. */
  #newOrigin(): Origin {
    const origin: Origin = {
      isLive: true,
      rejected: this.#rejected,
      send: (frame, settled) => {
        const isSent = this.#frames.send(frame, settled)
        if (isSent && frame !== 'hand-back') this.#inline.report({ type: 'settles', count: 1 })
        return isSent
      },
    }
    return origin
  }

  #endOrigin(): void {
    this.#origin.isLive = false
    this.#arrivals.takeHeld()
    this.#streams.reset()
    this.#inline.standingChanged()
  }

  /** The broker would refuse a settle of an earlier delivery, or (from 4.3) it would revive the cancelled consumer. */
  #cancelled(): void {
    this.#endOrigin()
    this.#origin = this.#newOrigin()
    this.#source = 'cancelled'
    this.#events.report('consumer-cancelled', `the broker has ended the consumer of ${this.#queue}`)
  }

  #channelClosed(why: string): void {
    this.#source = 'closed'
    this.#closedBecause = why
    this.#endOrigin()
    const isNoAck = why.includes('unknown delivery tag')
    this.#events.report(
      'channel-closed',
      isNoAck ? `${why} (was it consumed with noAck: true, or settled elsewhere too?)` : why,
    )
    // Aborted handlers may still mark. The deadline ends retries of a dead letter that cannot be published, which would
    // otherwise go on for ever for each channel.
    void this.stop({ deadlineMs: this.#inline.capacity.longestRunMs })
  }

  /** Deliveries wait unacked until then. */
  async #openStore(): Promise<void> {
    const report = (event: string, detail: string): void => this.#events.report(event, detail)
    if (await openInline(this.#inline, { signal: this.#stopping.signal, report })) this.#arrivals.resume()
  }

  async #stop(deadlineMs: DurationMs): Promise<void> {
    this.#stopping.abort()
    this.#arrivals.shut()
    this.#streams.reset()
    for (const delivery of this.#arrivals.takeHeld()) delivery.handBack()
    try {
      await this.#inline.stop({ deadlineMs })
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
}
