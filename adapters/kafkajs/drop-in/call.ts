import {
  BrokerError,
  describeError,
  LeaseLostError,
  StoppedError,
  Watermark,
  type DurationMs,
  type Delivery,
  type DeliveryWatch,
  type InlineRunning,
  type Message,
  type Settlement,
  type Standing,
} from '../../../src/internal.ts'
import { toMessage } from '../../kafka/intake/delivery.ts'
import { PartitionLanes } from '../../kafka/membership/partition-lanes.ts'
import type { Order } from '../../kafka/options/options.ts'
import type { RawMessage } from '../../kafka/client.ts'

/** The messages of one call by kafkajs, and the functions that report their progress to it. */
export interface Handover {
  readonly topic: string
  readonly partition: number
  readonly messages: readonly RawMessage[]
  readonly watch?: DeliveryWatch | undefined
  heartbeat(): Promise<void>
  /** All messages up to this offset are finished. Throws if kafkajs has given up the partition. */
  finishedUpTo(offset: string): void
  /** Lets kafkajs commit finished offsets, if a commit is due. */
  commitIfDue(): Promise<void>
  /** Why no further message may begin; `undefined` if it may. */
  ending(): string | undefined
  /**
   * True if the function may return to kafkajs now with everything from this offset on unfinished, and none of it is
   * lost.
   */
  mayReturnBefore(offset: string): boolean
}

interface CallOptions {
  readonly inline: InlineRunning
  /** Resolves when the store is open or `stop()` was called. Never rejects. */
  readonly storeOpened: () => Promise<void>
  readonly order: Order
  readonly heartbeatEveryMs: DurationMs
}

/**
 * Handles all messages of one call by kafkajs, with heartbeats. It resolves when all of them are finished, or when the
 * unfinished ones will come again although the function returns. Otherwise it rejects.
 */
export class DropInCall {
  readonly #handover: Handover
  readonly #options: CallOptions
  readonly #lanes: PartitionLanes
  readonly #watermark = new Watermark<number>()
  /** Index of the first message that was not delivered yet. */
  #next = 0
  /** Index of the first message that may no longer begin. */
  #end: number
  #hasEndMoved = false
  #open = 0
  /** The function has returned to kafkajs. Running handlers go on; a redelivery joins them. */
  #isLeft = false
  #refusal: { readonly index: number; readonly settlement: Settlement } | undefined
  #partitionLost: Error | undefined
  #hasChanged = false
  #onChange: (() => void) | undefined

  constructor(handover: Handover, options: CallOptions) {
    this.#handover = handover
    this.#options = options
    this.#lanes = new PartitionLanes(this.#name)
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
    if (next === undefined) return // mutant: kafka-drop-in-returns-early
    // Without such a reason kafkajs would deliver them again at once, in a loop.
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

  /**
   * The store may be down for longer than the session timeout. Wait here with heartbeats, so that kafkajs keeps its
   * membership.
   */
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
    // No message may begin any more, and the store is not open.
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

  /** A batch may be larger than the consumer's `maxInFlight`. */
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

  #delivery(raw: RawMessage, index: number): Delivery {
    const message: Message = toMessage(this.#handover, raw)
    this.#handover.watch?.made(message)
    this.#watermark.receive(index)
    return {
      message,
      lane: this.#lanes.of(raw.key, this.#options.order),
      // In the call of kafkajs: the span of an instrumentation is active.
      within: (work) => work(),
      standing: (): Standing => (this.#isLeft || index >= this.#end ? 'stale' : 'current'),
      settle: () => !this.#isLeft,
      onEnd: (end) => this.#ended(index, this.#options.inline.settlementOf(end, message)),
    }
  }

  #ended(index: number, settlement: Settlement): void {
    this.#open--
    this.#handover.watch?.ended(settlement)
    switch (settlement.settle) {
      case 'ack':
        this.#finish(index)
        break
      case 'dead-letter':
        // Earlier messages are still handled: the partition stops at this message, not before.
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
    if (!this.#watermark.finish(index) || this.#isLeft) return // mutant: kafka-drop-in-resolves-the-unfinished
    const last = this.#handover.messages[this.#watermark.finishedUpTo ?? 0] // mutant: kafka-drop-in-resolves-the-unfinished 2
    if (last === undefined) return
    try {
      this.#handover.finishedUpTo(last.offset)
    } catch (error) {
      // A rejoin took the topic away while its handlers ran. The TypeError of kafkajs would end its consumer for good.
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

  /** Resolves when a message has ended, or when a heartbeat is due. */
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
    settlement: { reason, deadLetter },
  }: {
    readonly index: number
    readonly settlement: Settlement
  }): Error {
    const offset = this.#handover.messages[index]?.offset
    const why = [reason, deadLetter?.detail].filter((text) => text !== undefined && text !== '').join(': ')
    return new BrokerError(
      'BROKER_PUBLISH_REFUSED',
      `${this.#name}: the message at offset ${offset} must be dead-lettered (${why}), and there is no client to publish it. Give the option kafka to eachMessage() or eachBatch(); until then this consumer does not move on in the partition`,
    )
  }
}
