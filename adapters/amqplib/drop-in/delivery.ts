import type { Delivery, DeliveryEnd, Message, Standing } from '../../../src/internal.ts'
import type { AmqpChannel } from '../amqplib-like.ts'
import type { Frame } from './frames.ts'

/** The origin of a delivery: one life of a consumer on one channel. */
export interface Origin {
  isLive: boolean
  /** `false`: the channel is closed or closing. */
  send(frame: Frame, settled: Settled): boolean
  /** Messages to reject to the queue's own dead-letter exchange instead of acking them. */
  readonly rejected: { has(message: Message): boolean }
}

/** A delivery tag, or the message itself if an instrumentation must see it again. */
export type Settled = Parameters<AmqpChannel['ack']>[0]

export class DropInDelivery implements Delivery {
  readonly message: Message
  readonly lane: string | undefined
  readonly within: Delivery['within']
  readonly #raw: Settled
  readonly #origin: Origin
  #isSettled = false

  constructor(
    origin: Origin,
    place: Pick<Delivery, 'message' | 'within'> & { readonly raw: Settled; readonly lane?: string | undefined },
  ) {
    this.#origin = origin
    this.message = place.message
    this.lane = place.lane
    this.within = place.within
    this.#raw = place.raw
  }

  standing(): Standing {
    return this.#origin.isLive ? 'current' : 'lost'
  }

  settle(): boolean {
    if (this.#isSettled) return true
    const { isLive, rejected } = this.#origin
    return isLive && this.#send(rejected.has(this.message) ? 'reject' : 'ack') // mutant: rabbit-drop-in-settles-after-its-end
  }

  onEnd({ endedAs }: DeliveryEnd): void {
    // A message that has not begun when `stop()` ends is returned at once, not when the channel closes.
    if (endedAs === 'handed-back' || endedAs === 'lease-lost') this.handBack()
  }

  /** Returns the message to the head of the queue. */
  handBack(): boolean {
    if (this.#isSettled) return true
    return this.#origin.isLive && this.#send('hand-back')
  }

  #send(frame: Frame): boolean {
    if (!this.#origin.send(frame, this.#raw)) return false
    this.#isSettled = true
    return true
  }
}
