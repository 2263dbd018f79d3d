import { SILENT, type ResolvedConsumer } from '../resolve-options.ts'
import type { Clock } from '../ports/clock.ts'
import type { Observer, ObserverEvent } from '../ports/observer.ts'
import { createIdReader } from './identify.ts'
import { logEvent, type EventLog } from './log-event.ts'
import { loggedError } from './logged-error.ts'
import { SettleRefusals } from './settle-refusals.ts'

/**
 * Calls the consumer's log and observer. An exception in them is the user's own and must not leave a message half
 * ended.
 */
export class Telling {
  readonly #consumer: ResolvedConsumer
  readonly #eventLog: EventLog
  readonly #refusals: SettleRefusals

  constructor(consumer: ResolvedConsumer, clock: Clock) {
    const { log, name, logIds } = consumer
    this.#consumer = consumer
    this.#eventLog = { log, consumer: name, idOf: logIds ? createIdReader(consumer) : undefined }
    this.#refusals = new SettleRefusals(log, name, clock)
  }

  readonly observe: Observer = (event) => {
    if (this.#consumer.log !== SILENT) unlessItThrows(() => this.#toLog(event))
    try {
      this.#consumer.observe(event)
    } catch (error) {
      unlessItThrows(() => this.#logObserverError(error, event))
    }
  }

  /** Logs the counts that are not logged yet, and leaves no timer. */
  end(): void {
    unlessItThrows(() => this.#refusals.flush())
  }

  #toLog(event: ObserverEvent): void {
    if (event.type === 'delivery' && event.outcome === 'settle-refused') this.#refusals.add(event)
    else logEvent(this.#eventLog, event)
  }

  #logObserverError(error: unknown, event: ObserverEvent): void {
    const { log, name } = this.#consumer
    const about = 'message' in event ? event.message : undefined
    log.error({ consumer: name, err: loggedError(error, about) }, 'the observer threw')
  }
}

/** The logger itself threw, so there is no place to report it. */
function unlessItThrows(tell: () => void): void {
  try {
    tell()
  } catch {}
}
