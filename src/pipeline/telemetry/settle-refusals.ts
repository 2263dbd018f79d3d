import { unawaited } from '../../foundation/at-once.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Logger } from '../../ports/logger.ts'
import type { ObserverEvent } from '../../ports/observer.ts'

type DeliveryEvent = Extract<ObserverEvent, { type: 'delivery' }>

/** How long refusals of one place are counted before they are logged. */
const TOLD_EVERY_MS = 10_000

/**
 * Counts refused settles by partition or queue, for the log. A rebalance refuses hundreds, which is normal: each
 * message comes again, as a duplicate if it was done. The observer gets every one of them.
 */
export class SettleRefusals {
  readonly #log: Logger
  readonly #consumer: string
  readonly #clock: Clock
  readonly #places = new Map<string, { readonly place: object; readonly refused: Record<string, number> }>()
  #cancel: (() => void) | undefined

  constructor(log: Logger, consumer: string, clock: Clock) {
    this.#log = log
    this.#consumer = consumer
    this.#clock = clock
  }

  add({ message, refused = 'handled' }: DeliveryEvent): void {
    const { system, destination, position } = message
    // A delivery tag contains no partition.
    const partition = position.includes('@') ? position.split('@')[0] : undefined
    const name = `${partition ?? ''} ${destination}`
    let counted = this.#places.get(name)
    if (counted === undefined) {
      this.#places.set(name, (counted = { place: { system, destination, partition }, refused: {} }))
    }
    counted.refused[refused] = (counted.refused[refused] ?? 0) + 1
    this.#cancel ??= this.#clock.after(TOLD_EVERY_MS, () => this.flush(), { background: true })
  }

  /** Logs the counts, and leaves no timer. */
  flush(): void {
    this.#cancel?.()
    this.#cancel = undefined
    const places = [...this.#places.values()]
    this.#places.clear()
    for (const { place, refused } of places) {
      const count = Object.values(refused).reduce((sum, one) => sum + one, 0)
      const told: unknown = this.#log.info(
        { consumer: this.#consumer, ...place, count, refused },
        'settles refused: their partition or channel was gone; these messages come again, as duplicates where they were done',
      )
      unawaited(told)
    }
  }
}
