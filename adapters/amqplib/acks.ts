import { AckWindow, type AckFrame } from './ack-window.ts'
import type { RabbitSettings } from './options.ts'
import type { AmqpChannel } from './slice.ts'

/** Of settle frames shortly before a close, a quorum queue heeds about the first 34. */
const FRAMES_HEEDED = 30

/** Settles the deliveries of one channel: at the end of a turn of the event loop, or when half the prefetch is finished. */
export class Acks {
  readonly #channel: AmqpChannel
  readonly #settings: RabbitSettings
  readonly #onSettled: (count: number) => void
  readonly #window: AckWindow
  #isLive = true
  #framesSent = 0
  #finishedSinceFlush = 0
  #isFlushScheduled = false

  constructor(channel: AmqpChannel, settings: RabbitSettings, onSettled: (count: number) => void) {
    this.#channel = channel
    this.#settings = settings
    this.#onSettled = onSettled
    this.#window = new AckWindow(Math.floor(settings.prefetch / 2))
  }

  /** More than the broker heeds if the channel closed now. */
  get areMany(): boolean {
    return this.#framesSent > FRAMES_HEEDED
  }

  /** Registers a delivery as it arrives. Returns the ticket that settles it. */
  receive(tag: number): number {
    return this.#window.receive(tag)
  }

  /** `false`: refused. */
  settle(tag: number, ticket: number): boolean {
    if (!this.#isLive) return false
    this.#window.finish(tag, ticket)
    if (!this.#settings.ackBatch) return this.#send(this.#window.takeFrames(true))
    this.#finishedSinceFlush++
    if (this.#finishedSinceFlush * 2 >= this.#settings.prefetch) this.#flush()
    else this.#scheduleFlush()
    return true
  }

  /** Back to the head of the queue, for whoever comes. */
  handBack(tag: number, ticket: number): void {
    if (!this.#isLive) return
    this.#window.settledAlone(tag, ticket)
    this.#framesSent++
    attempt(() => this.#channel.nack(tagged(tag), false, true))
  }

  /** The channel is gone: nothing is sent any more. */
  end(): void {
    this.#isLive = false
  }

  /** Sends all that is finished, then nothing any more. */
  finish(): void {
    if (this.#isLive) this.#send(this.#window.takeFrames(true))
    this.end()
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
      const isSent = attempt(() => this.#channel.ack(tagged(tag), multiple))
      if (isSent) this.#onSettled(settles)
      return isSent
    })
  }
}

/** A closing channel throws, and its `close` is about to come: the redelivery finds the mark. */
function attempt(frame: () => void): boolean {
  try {
    frame()
    return true
  } catch {
    return false
  }
}

function tagged(deliveryTag: number): { readonly fields: { readonly deliveryTag: number } } {
  return { fields: { deliveryTag } }
}
