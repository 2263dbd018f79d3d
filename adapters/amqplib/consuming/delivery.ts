import type { Delivery, Standing } from '../../../src/internal.ts'
import type { RabbitMessage } from '../message/message.ts'

/** What a delivery needs of the generation that delivered it. */
export interface DeliveryOwner {
  readonly number: number
  readonly isLive: boolean
  settle(delivery: RabbitDelivery): boolean
  handBack(delivery: RabbitDelivery): boolean
}

/** A delivery belongs to the channel that delivered it: the same tag on the next channel is another message. */
export class RabbitDelivery implements Delivery {
  readonly message: RabbitMessage
  readonly lane: string | undefined
  readonly tag: number
  readonly ticket: number
  readonly within: Delivery['within']
  readonly generation: DeliveryOwner
  #state: 'open' | 'settled' | 'handed-back' = 'open'

  constructor(generation: DeliveryOwner, message: RabbitMessage, place: DeliveryPlace) {
    this.generation = generation
    this.message = message
    this.lane = place.lane
    this.tag = place.tag
    this.ticket = place.ticket
    this.within = place.within
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
  readonly within: Delivery['within']
}
