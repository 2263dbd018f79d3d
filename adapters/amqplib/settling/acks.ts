import { AckWindow, type AckFrame } from './ack-window.ts'
import { InvariantError } from '../../../src/internal.ts'
import type { FittedSettings } from '../options/fit.ts'
import type { AmqpChannel, AmqpMessage } from '../amqplib-like.ts'

/**
 * A frame for one delivery that is not an ack. `dead-letter`: to the queue's own dead-letter exchange. `retry`: back to
 * the queue, counted as a return. `return`: back to the queue, not counted on RabbitMQ 4.3.
 */
export type OwnFrame = 'dead-letter' | 'retry' | 'return'

type AckSettings = Pick<FittedSettings, 'prefetch' | 'ackBatch'>

interface AckHooks {
  /** The broker was told about `count` deliveries. */
  readonly onSettled: (count: number) => void
  /** A frame was refused because it must not be written, and so is every later one: the channel must be closed. */
  readonly onBroken: (error: Error) => void
}

/**
 * Settles the deliveries of one channel: at the end of a turn of the event loop, or when half the prefetch is finished.
 */
export class Acks {
  readonly #channel: AmqpChannel
  readonly #settings: AckSettings
  readonly #hooks: AckHooks
  readonly #window: AckWindow
  /** Unsettled messages that an instrumentation must see again, by tag, in the order of the tags. */
  readonly #instrumented = new Map<number, AmqpMessage>()
  #isLive = true
  #sent = 0
  #finishedSinceFlush = 0
  #isFlushScheduled = false

  constructor(channel: AmqpChannel, settings: AckSettings, hooks: AckHooks) {
    this.#channel = channel
    this.#settings = settings
    this.#hooks = hooks
    this.#window = new AckWindow(Math.floor(settings.prefetch / 2))
  }

  /** Number of settle frames so far. */
  get sent(): number {
    return this.#sent
  }

  /** The broker was told about each delivery. */
  get areComplete(): boolean {
    return this.#window.isSettled
  }

  /**
   * Registers a delivery on arrival. Returns the ticket that settles it. `instrumented`: the message, if its own object
   * must be settled.
   */
  receive(tag: number, instrumented?: AmqpMessage): number {
    if (instrumented !== undefined) this.#instrumented.set(tag, instrumented)
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

  /** Settles at once, with a frame for this delivery only. `false`: refused. */
  settleAlone(tag: number, ticket: number, frame: OwnFrame): boolean {
    if (!this.#isLive) return false
    this.#window.settledAlone(tag, ticket)
    if (!this.#mayWrite({ tag, multiple: false, settles: 1 })) return false
    // Finished deliveries above it may have waited only for this one.
    this.#scheduleFlush()
    this.#sent++
    const tagged = this.#tagged(tag, false)
    return attempt(() => {
      if (frame === 'return') this.#channel.nack(tagged, false, true)
      else this.#channel.reject(tagged, frame === 'retry')
    })
  }

  /** The channel is gone: nothing is sent any more. */
  end(): void {
    this.#isLive = false
  }

  /** Sends all finished acks, then nothing more. */
  finish(): void {
    if (this.#isLive) this.#send(this.#window.takeFrames(true))
    this.end()
  }

  /** Sends all finished acks, returns all other deliveries to the queue, then sends nothing more. */
  returnAll(): void {
    if (this.#isLive) this.#send(this.#window.takeFrames(true))
    // A refused ack ends it, and the close of the channel returns what is left.
    if (this.#isLive) {
      this.#sent++
      attempt(() => this.#channel.nackAll(true))
    }
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
    this.#sent += frames.length
    return frames.every((frame) => {
      if (!this.#mayWrite(frame)) return false
      const { tag, multiple, settles } = frame
      const tagged = this.#tagged(tag, multiple)
      const isSent = attempt(() => this.#channel.ack(tagged, multiple))
      if (isSent) this.#hooks.onSettled(settles)
      return isSent
    })
  }

  #tagged(deliveryTag: number, multiple: boolean): Tagged {
    const message = this.#instrumented.get(deliveryTag)
    if (message === undefined) return { fields: { deliveryTag } }
    this.#instrumented.delete(deliveryTag)
    if (!multiple) return message
    for (const below of this.#instrumented.keys()) {
      if (below > deliveryTag) break
      this.#instrumented.delete(below)
    }
    return message
  }

  #mayWrite(frame: AckFrame): boolean {
    const broken = this.#window.tell(frame)
    if (broken === undefined) return true // mutant: ack-over-the-unfinished 2
    this.#isLive = false
    this.#hooks.onBroken(new InvariantError('acks.mayWrite', broken))
    return false
  }
}

/** A closing channel throws, and its `close` event follows. The redelivery finds the mark. */
function attempt(frame: () => void): boolean {
  try {
    frame()
    return true
  } catch {
    return false
  }
}

type Tagged = Parameters<AmqpChannel['ack']>[0]
