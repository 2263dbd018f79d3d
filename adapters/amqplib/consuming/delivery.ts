import type { Delivery, Standing } from '../../../src/spi.ts'
import type { Generation } from './generation.ts'
import type { RabbitMessage } from './message.ts'

/** A delivery belongs to the channel that delivered it: the same tag on the next channel is another message. */
export class RabbitDelivery implements Delivery {
  readonly message: RabbitMessage
  readonly lane: string | undefined
  readonly tag: number
  readonly ticket: number
  readonly generation: Generation
  #state: 'open' | 'settled' | 'handed-back' = 'open'

  constructor(generation: Generation, message: RabbitMessage, place: DeliveryPlace) {
    this.generation = generation
    this.message = message
    this.lane = place.lane
    this.tag = place.tag
    this.ticket = place.ticket
  }

  standing(): Standing {
    return this.generation.isLive ? 'current' : 'lost'
  }

  settle(): boolean {
    if (this.#state === 'open' && this.generation.settle(this)) this.#state = 'settled'
    return this.#state === 'settled'
  }

  handBack(): boolean {
    if (this.#state === 'open' && this.generation.handBack(this)) this.#state = 'handed-back'
    return this.#state === 'handed-back'
  }
}

interface DeliveryPlace {
  readonly tag: number
  readonly ticket: number
  readonly lane: string | undefined
}
