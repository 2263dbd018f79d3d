import type { Delivery, Standing } from '../../src/index.ts'
import type { Generation } from './generation.ts'
import type { RabbitMessage } from './message.ts'

/** Belongs to the channel it came from, for ever: the same tag on the next channel is another message. */
export class RabbitDelivery implements Delivery {
  readonly message: RabbitMessage
  readonly lane: string | undefined
  readonly tag: number
  readonly ticket: number
  readonly #generation: Generation
  #isSettled = false

  constructor(generation: Generation, message: RabbitMessage, place: DeliveryPlace) {
    this.#generation = generation
    this.message = message
    this.lane = place.lane
    this.tag = place.tag
    this.ticket = place.ticket
  }

  standing(): Standing {
    return this.#generation.isLive ? 'current' : 'lost'
  }

  settle(): boolean {
    if (this.#isSettled) return true
    this.#isSettled = this.#generation.settle(this)
    return this.#isSettled
  }
}

interface DeliveryPlace {
  readonly tag: number
  readonly ticket: number
  readonly lane: string | undefined
}
