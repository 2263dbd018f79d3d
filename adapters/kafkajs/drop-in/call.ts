import {
  BrokerError,
  describeError,
  LeaseLostError,
  StoppedError,
  Watermark,
  type DurationMs,
  type InlineDelivery,
  type InlineRunning,
  type Message,
  type Settlement,
  type Standing,
} from '../../../src/index.ts'
import { laneOf, toMessage, type Order } from '../intake/delivery.ts'
import type { KafkaMessageLike } from '../slice.ts'

/** What kafkajs hands over in one call of its user's function, and how it is told what becomes of it. */
export interface Handover {
  readonly topic: string
  readonly partition: number
  readonly messages: readonly KafkaMessageLike[]
  heartbeat(): Promise<void>
  /** All up to this offset is finished. Throws where kafkajs has given the partition up. */
  finishedUpTo(offset: string): void
  /** Lets kafkajs commit what is finished, if it is time to. */
  commitIfDue(): Promise<void>
  /** Why nothing more may begin, if so. */
  ending(): string | undefined
  /** Whether kafkajs's function may return now, with everything from this offset on unfinished and nothing of it lost. */
  mayReturnBefore(offset: string): boolean
}

interface CallOptions {
  readonly inline: InlineRunning
  /** Resolves when the store is open, or `stop()` was called. Never rejects. */
  readonly storeOpened: () => Promise<void>
  readonly order: Order
  readonly heartbeatEveryMs: DurationMs
}

/**
 * The messages of one call of kafkajs, from the first to the last: handled, with heartbeats meanwhile. It resolves when all of
 * them are finished, or may come again though kafkajs sees a return; in any other case it rejects.
 */
export class DropInCall {
  readonly #handover: Handover
  readonly #options: CallOptions
  readonly #watermark = new Watermark<number>()
  /** The first message that was not delivered yet. */
  #next = 0
  /** The first that may not begin any more. */
  #end: number
  #hasEndMoved = false
  #open = 0
  /** kafkajs has its function back: what still runs goes on, and is joined when it comes again. */
  #isLeft = false
  #refusal: { readonly index: number; readonly settlement: Settlement } | undefined
  #partitionLost: Error | undefined
  #hasChanged = false
  #onChange: (() => void) | undefined

  constructor(handover: Handover, options: CallOptions) {
    this.#handover = handover
    this.#options = options
    this.#end = handover.messages.length
  }

  async run(): Promise<void> {
    try {
      await this.#openStore()
      await this.#handleAll()
    } catch (error) {
      this.#isLeft = true
      this.#options.inline.standingChanged()
      throw error
    }
    this.#leaveUnfinished()
  }

  #leaveUnfinished(): void {
    const { messages } = this.#handover
    const finished = (this.#watermark.finishedUpTo ?? -1) + 1
    const next = messages[finished]
    if (next === undefined) return
    // Without such a reason kafkajs would be back with them at once, again and again.
    const why = this.#handover.ending()
    if (why !== undefined && this.#handover.mayReturnBefore(next.offset)) return
    if (this.#refusal !== undefined) throw this.#refused(this.#refusal)
    throw new StoppedError(
      `${this.#name}: only the first ${finished} of ${messages.length} messages are handled, because ${why ?? 'stop() was called'}; the others come again`,
    )
  }

  get #name(): string {
    return `${this.#handover.topic}/${this.#handover.partition}`
  }

  /** It may be down for longer than the session lasts: the messages wait here, so that kafkajs keeps its membership. */
  async #openStore(): Promise<void> {
    const opening = { isOver: false }
    void this.#options.storeOpened().then(() => {
      opening.isOver = true
      this.#changed()
      return undefined
    })
    while (!opening.isOver && this.#handover.ending() === undefined) {
      await this.#changeOrBeat()
      if (!opening.isOver) await this.#handover.heartbeat()
    }
    // Else nothing may begin any more, and nothing is open to begin with.
    if (!opening.isOver) this.#endAt(0)
  }

  async #handleAll(): Promise<void> {
    const { inline } = this.#options
    for (;;) {
      this.#deliverMore()
      if (this.#open === 0 && this.#next >= this.#end) return
      await this.#changeOrBeat()
      if (this.#partitionLost !== undefined) throw this.#partitionLost
      if (this.#open === 0) continue
      await this.#handover.heartbeat()
      await this.#handover.commitIfDue()
      if (this.#handover.ending() !== undefined) this.#endAt(0)
      if (this.#hasEndMoved) inline.standingChanged()
      this.#hasEndMoved = false
    }
  }

  /** A batch may be larger than what a consumer is to have in flight. */
  #deliverMore(): void {
    const { inline } = this.#options
    const most = inline.capacity.maxInFlight
    if (this.#next >= this.#end || this.#open > most / 2) return
    const until = Math.min(this.#end, this.#next + most - this.#open)
    const deliveries = this.#handover.messages
      .slice(this.#next, until)
      .map((raw, index) => this.#delivery(raw, this.#next + index))
    this.#next = until
    this.#open += deliveries.length
    inline.deliver(deliveries)
  }

  #delivery(raw: KafkaMessageLike, index: number): InlineDelivery {
    const message: Message = toMessage(this.#handover, raw)
    this.#watermark.receive(index)
    return {
      message,
      lane: laneOf(this.#name, raw.key, this.#options.order),
      standing: (): Standing => (this.#isLeft || index >= this.#end ? 'stale' : 'current'),
      settle: () => !this.#isLeft,
      ended: (settlement) => this.#ended(index, settlement),
    }
  }

  #ended(index: number, settlement: Settlement): void {
    this.#open--
    switch (settlement.settle) {
      case 'ack':
        this.#finish(index)
        break
      case 'dead-letter':
        // Those before it still get their turn: the partition stands still at this one, and at no other.
        if (index < (this.#refusal?.index ?? Infinity)) this.#refusal = { index, settlement }
        this.#endAt(index)
        break
      case 'retry':
        this.#endAt(index)
        break
    }
    this.#changed()
  }

  #finish(index: number): void {
    if (!this.#watermark.finish(index) || this.#isLeft) return
    const last = this.#handover.messages[this.#watermark.finishedUpTo ?? 0]
    if (last === undefined) return
    try {
      this.#handover.finishedUpTo(last.offset)
    } catch (error) {
      // A rejoin took the topic away while its handlers ran. As it is, this TypeError would end kafkajs for good.
      this.#partitionLost = new LeaseLostError(
        'DELIVERY_LOST',
        `${this.#name}: kafkajs has given the partition up: ${describeError(error)}`,
      )
    }
  }

  #endAt(index: number): void {
    if (index >= this.#end) return
    this.#end = index
    this.#hasEndMoved = true
  }

  #changed(): void {
    this.#hasChanged = true
    this.#onChange?.()
  }

  /** Resolves when something has ended, or when it is time for a heartbeat. */
  #changeOrBeat(): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        clearTimeout(beat)
        this.#onChange = undefined
        this.#hasChanged = false
        resolve()
      }
      const beat = setTimeout(look, this.#options.heartbeatEveryMs)
      this.#onChange = look
      if (this.#hasChanged) look()
    })
  }

  #refused({
    index,
    settlement: { reason, letter },
  }: {
    readonly index: number
    readonly settlement: Settlement
  }): Error {
    const offset = this.#handover.messages[index]?.offset
    const why = [reason, letter?.detail].filter((text) => text !== undefined && text !== '').join(': ')
    return new BrokerError(
      'BROKER_PUBLISH_REFUSED',
      `${this.#name}: the message at offset ${offset} must be dead-lettered (${why}), and nobody may publish it. Give the option kafka to eachMessage() or eachBatch(); until then this partition stands still here`,
    )
  }
}
