import { systemClock, type Delivery, type InlineRunning, type Message, type Settlement } from '../../src/internal.ts'

/** A message of an event. */
export interface Item {
  readonly message: Message
  /** Messages of one lane are handled one after the other. */
  readonly lane: string | undefined
}

/** `undefined`: the time of the invocation was over first. */
export type Ended = Settlement | undefined

/**
 * Handles the messages of one event. At the deadline no other message begins, handlers under a lease are aborted, and
 * those that still run get half of what is left of the invocation to end.
 */
export class Batch {
  readonly #inline: InlineRunning
  readonly #items: readonly Item[]
  readonly #ended: Ended[]
  #next = 0
  #open = 0
  #isOver = false
  #resolve: () => void = () => {}

  constructor(inline: InlineRunning, items: readonly Item[]) {
    this.#inline = inline
    this.#items = items
    this.#ended = items.map(() => undefined)
  }

  /** @throws any error of the store's `open()` */
  async run({
    withinMs,
    marginMs,
  }: {
    readonly withinMs: number
    readonly marginMs: number
  }): Promise<readonly Ended[]> {
    if (this.#items.length === 0) return this.#ended
    const finished = new Promise<void>((resolve) => {
      this.#resolve = resolve
    })
    const cancels = [
      systemClock.after(Math.max(0, withinMs - marginMs), () => this.#stop()),
      systemClock.after(Math.max(0, withinMs - marginMs / 2), () => this.#resolve()),
    ]
    try {
      const opened = this.#inline.open().then(() => this.#deliverMore())
      await Promise.race([finished, opened.then(() => finished)])
      return [...this.#ended]
    } finally {
      this.#isOver = true
      for (const cancel of cancels) cancel()
    }
  }

  #stop(): void {
    this.#isOver = true
    this.#next = this.#items.length
    this.#inline.standingChanged()
    if (this.#open === 0) this.#resolve()
  }

  /** An event may have more messages than the consumer may have in flight. */
  #deliverMore(): void {
    const room = this.#inline.capacity.maxInFlight - this.#open
    const deliveries = this.#items
      .slice(this.#next, this.#next + room)
      .map((item, index) => this.#deliveryOf(item, this.#next + index))
    this.#next += deliveries.length
    this.#open += deliveries.length
    if (deliveries.length > 0) this.#inline.deliver(deliveries)
  }

  #deliveryOf({ message, lane }: Item, at: number): Delivery {
    return {
      message,
      lane,
      within: (work) => work(),
      standing: () => (this.#isOver ? 'lost' : 'current'),
      settle: () => !this.#isOver,
      onEnd: (end) => {
        this.#ended[at] = this.#inline.settlementOf(end, message)
        this.#open--
        if (!this.#isOver) this.#deliverMore()
        if (this.#open === 0 && this.#next >= this.#items.length) this.#resolve()
      },
    }
  }
}
