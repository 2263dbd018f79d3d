import { SILENT } from '../../consumer/consumer-table.ts'
import type { ResolvedConsumer } from '../../consumer/resolve-options.ts'
import { unawaited } from '../../foundation/at-once.ts'
import { isThenable } from '../../foundation/thenable.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Counts, CountingObserver, Observer, ObserverEvent, PipelineEvent } from '../../ports/observer.ts'
import { AllCounts } from './all-counts.ts'
import { DELIVERY } from './channels.ts'
import { createIdReader } from '../intake/identify.ts'
import { isEnabled, logEvent, type EventLog } from './log-event.ts'
import { loggedError } from './logged-error.ts'
import { SettleRefusals } from './settle-refusals.ts'

/** Tells an event of the pipeline to whoever listens. It never throws. */
export type Tell = (event: PipelineEvent & Partial<Named>) => void

/** What is made for each message has the name of the consumer already: adding it later takes longer than making the event. */
export type Named = Pick<ObserverEvent, 'consumer'>

/**
 * Calls the consumer's log and observers. An exception in them is the user's own and must not leave a message half
 * ended.
 */
export class Telling {
  readonly #consumer: ResolvedConsumer
  readonly #eventLog: EventLog
  readonly #refusals: SettleRefusals
  readonly #isLogged: boolean
  /** Those that want events of what happens with every message. */
  readonly #listeners: readonly Observer[]
  /** The others are called with numbers, as long as the consumer runs. */
  readonly counts: Counts
  readonly #isCounted: boolean
  #hasExplainedConflicts = false

  constructor(consumer: ResolvedConsumer, clock: Clock) {
    const { log, name, logIds, observers } = consumer
    const counting = observers.filter(isCounting)
    this.#isCounted = counting.length > 0
    this.#listeners = observers.filter((observer) => !isCounting(observer))
    this.counts = new AllCounts(
      counting.map((observer) => observer.countsOf(name)),
      (error) => unlessItThrows(() => log.error({ consumer: name, err: loggedError(error) }, OBSERVER_THREW)),
    )
    this.#consumer = consumer
    this.#isLogged = log !== SILENT
    this.#eventLog = { log, consumer: name, idOf: logIds ? createIdReader(consumer) : undefined }
    this.#refusals = new SettleRefusals(log, name, clock)
  }

  /** Somebody listens. Otherwise no event need be made, and no time be taken for it. */
  get isHeard(): boolean {
    return this.#isLogged || this.#consumer.observers.length > 0 || DELIVERY.hasSubscribers
  }

  /** Somebody wants events of what happens with every message: a `debug` line is one for each, too. */
  get isEachHeard(): boolean {
    if (this.#listeners.length > 0 || DELIVERY.hasSubscribers) return true
    return this.#isLogged && isEnabled(this.#consumer.log, 'debug')
  }

  readonly observe: Tell = (event) => {
    if (!this.isHeard) return
    const told = event.consumer === undefined ? this.#named(event) : (event as ObserverEvent)
    if (told.type === 'delivery' && DELIVERY.hasSubscribers) DELIVERY.publish(told)
    if (this.#isLogged) this.#log(told)
    const observers = this.#isCounted && isCounted(told) ? this.#listeners : this.#consumer.observers
    // By index: an iterator would make an object for each event and each observer.
    for (let at = 0; at < observers.length; at++) this.#call(observers[at] as Observer, told)
  }

  /** In place, because the event was made for this call. */
  #named(event: PipelineEvent): ObserverEvent {
    const named = event as { consumer?: string }
    named.consumer = this.#consumer.name
    return event as ObserverEvent
  }

  #call(observer: Observer, told: ObserverEvent): void {
    try {
      const answer: unknown = observer(told)
      if (isThenable(answer)) unawaited(answer, (error) => this.#observerThrew(error, told))
    } catch (error) {
      this.#observerThrew(error, told)
    }
  }

  /** Logs the counts that are not logged yet, and leaves no timer. */
  end(): void {
    unlessItThrows(() => this.#refusals.flush())
  }

  #log(event: ObserverEvent): void {
    unlessItThrows(() => this.#toLog(event))
  }

  #toLog(event: ObserverEvent): void {
    if (event.type === 'delivery' && event.outcome === 'settle-refused') this.#refusals.add(event)
    else unawaited(logEvent(this.#eventLog, event))
    if (event.type === 'delivery' && event.reason === 'conflict' && !this.#hasExplainedConflicts) {
      this.#hasExplainedConflicts = true
      const told: unknown = this.#eventLog.log.warn(
        { consumer: this.#consumer.name, next: AFTER_CONFLICT },
        ABOUT_CONFLICTS,
      )
      unawaited(told)
    }
  }

  #observerThrew(error: unknown, event: ObserverEvent): void {
    const { log, name } = this.#consumer
    const about = 'message' in event ? event.message : undefined
    unlessItThrows(() => log.error({ consumer: name, err: loggedError(error, about) }, OBSERVER_THREW))
  }
}

const OBSERVER_THREW = 'the observer threw'

function isCounting(observer: Observer): observer is CountingObserver {
  return typeof (observer as Partial<CountingObserver>).countsOf === 'function'
}

/** Events that come with every message, as handled deliveries do. Those that count get numbers in their place. */
const COUNTED: ReadonlySet<ObserverEvent['type']> = new Set(['handler-run', 'store-call', 'claims', 'marks'])

function isCounted(event: ObserverEvent): boolean {
  return event.type === 'delivery' ? event.outcome === 'handled' : COUNTED.has(event.type)
}

/** Said once, after the first. */
const ABOUT_CONFLICTS =
  'about conflicts: two messages have the same ID and different payloads. The first is handled, the other was dead-lettered and not handled. ' +
  'Usual causes: a re-send has a new timestamp or counter in its payload, or the ID is no ID of one message, such as a customer number'
const AFTER_CONFLICT =
  "a re-send that differs: set onConflict: { compare: ['/amount'] } with the fields that must agree, or onConflict: 'duplicate'. " +
  'An ID that several messages share: take another one (id), then publish the dead letters again'

/** The logger itself threw, so there is no place to report it. */
function unlessItThrows(tell: () => unknown): void {
  try {
    unawaited(tell())
  } catch {}
}
