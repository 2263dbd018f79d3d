import { OBSERVED_VERDICTS } from '../core/observed.ts'
import type { Clock } from '../ports/clock.ts'
import type { CountingObserver, ObserverEvent } from '../ports/observer.ts'
import type { Outbox } from '../ports/outbox.ts'
import { isDone } from '../ports/outcome.ts'
import { Cells } from './cells.ts'
import { ConsumerCells, type Found } from './consumer-cells.ts'
import { GaugeReader, type GaugeOptions, type Readings } from './gauges.ts'
import { LabelValues } from './label-values.ts'
import type { CounterId, HistogramId } from './metrics.ts'
import { reasonOf } from './reasons.ts'
import { flag, optionsOf, or, type Defaulted, type Table } from '../foundation/options.ts'
import { clockOption } from '../foundation/system-options.ts'
import type { Count, Distribution } from './series.ts'

export interface MeterOptions extends GaugeOptions {
  /** @defaultValue the system clock */
  readonly clock?: Clock
}

export const READ_STORES: Defaulted<boolean> = or(true, flag())

const METER: Table<MeterOptions> = {
  readStores: READ_STORES,
  clock: clockOption(),
}

type DeliveryEvent = Extract<ObserverEvent, { type: 'delivery' }>

/** The most distinct values of labels that come from outside; all later ones are `other`. */
const MOST_CONSUMERS = 200
const MOST_DESTINATIONS = 200
const MOST_EVENTS = 60
/** Brokers: those of the library, and some of others. */
const MOST_SYSTEMS = 16

/** Told as 0 from the start, so that a rate sees the first of them, and an alert can subtract one that has not been. */
const ALARMS = [
  'store-down',
  'decode-down',
  'limit-down',
  'stuck',
  'stalled',
  'stall-over',
  'holding',
  'hold-over',
  'lease-lost',
  'publish-failed',
  'purge-failed',
  'invariant-broken',
] as const

/**
 * Counts the events of any number of consumers by the table of metrics. An observer: `observe: meter.observe`. Nothing
 * is sent anywhere; whoever exports reads `counter`, `histogram` and `gauges()`.
 */
export class Meter {
  readonly #cells: Cells
  readonly #gauges: GaugeReader
  readonly #clock: Clock
  readonly #consumers = new Map<string, ConsumerCells>()
  readonly #names = new LabelValues(MOST_CONSUMERS)
  readonly #destinations = new LabelValues(MOST_DESTINATIONS)
  readonly #events = new LabelValues(MOST_EVENTS)
  readonly #systems = new LabelValues(MOST_SYSTEMS)
  readonly #outboxes = new WeakSet<Outbox>()

  /** Bound: it can be given away as it is. It never throws. */
  readonly observe: CountingObserver

  /** @throws ConfigError `CONFIG_INVALID` for an unknown option */
  constructor(asked: MeterOptions = {}) {
    const { clock, ...options } = optionsOf('new Meter', METER, asked)
    this.#clock = clock
    this.#gauges = new GaugeReader(clock, options, { name: this.#names, destination: this.#destinations })
    this.#cells = new Cells()
    this.observe = Object.assign((event: ObserverEvent) => this.#observe(event), {
      countsOf: (consumer: string) => this.#of(consumer),
    })
  }

  #observe(event: ObserverEvent): void {
    switch (event.type) {
      case 'delivery':
        return this.#delivery(event)
      case 'store-call':
        return this.#of(event.consumer).called(event.operation, event.count, event.durationMs, event.error)
      case 'handler-run':
        return this.#of(event.consumer).ran(event.result, event.durationMs)
      case 'started':
        this.#gauges.started(event)
        this.#watch(event.store.outbox, event.consumer)
        return this.#zero(this.#of(event.consumer).name)
      case 'stopped':
        return this.#gauges.stopped(event.consumer)
      case 'attempt-failed':
        return this.#count('attemptsFailed', [this.#of(event.consumer).name])
      case 'in-doubt':
        return this.#count('inDoubt', [this.#of(event.consumer).name, event.policy])
      case 'beyond-retention':
        return this.#count('beyondRetention', [this.#of(event.consumer).name, event.policy])
      case 'purged':
        return this.#count('purged', [this.#of(event.consumer).name], event.removed)
      case 'observed':
        return this.#count('observed', [this.#of(event.consumer).name, event.verdict], event.count)
      case 'unprotected-run':
        return this.#count('unprotectedRuns', [this.#of(event.consumer).name])
      case 'source':
        return this.#event(event.consumer, event.event)
      case 'put-off':
      case 'limit-down':
      case 'limit-up':
      case 'decode-down':
      case 'decode-up':
      case 'store-down':
      case 'store-up':
      case 'stuck':
      case 'stalled':
      case 'stall-over':
      case 'holding':
      case 'hold-over':
      case 'paused':
      case 'resumed':
      case 'apart':
      case 'lease-lost':
      case 'publish-failed':
      case 'purge-failed':
      case 'policy-threw':
      case 'result-not-kept':
      case 'invariant-broken':
        return this.#event(event.consumer, event.type)
      case 'claims':
      case 'marks':
      case 'settles':
        return // Their calls and their deliveries are counted.
    }
  }

  /** Consumers may share an outbox, so each is counted under the first. */
  #watch(outbox: Outbox | undefined, consumer: string): void {
    if (outbox === undefined || this.#outboxes.has(outbox)) return
    this.#outboxes.add(outbox)
    outbox.watch((event) => {
      if (event.event === 'waits') return
      const labels = [this.#of(consumer).name, this.#destinations.of(event.place)]
      const isPublished = event.event === 'published'
      this.#count('outboxPublished', labels, isPublished ? event.count : 0)
      this.#count('outboxRefused', labels, isPublished ? 0 : 1)
    })
  }

  counter(metric: CounterId): readonly Count[] {
    return this.#cells.counters[metric].all
  }

  histogram(metric: HistogramId): readonly Distribution[] {
    return this.#cells.histograms[metric].all
  }

  /** What the started consumers and their stores say now. Takes at most about a second, and never rejects. */
  gauges(): Promise<Readings> {
    return this.#gauges.read()
  }

  /** Counts of this metric begin at 0 again. */
  reset(metric: CounterId | HistogramId): void {
    this.#cells.reset(metric)
  }

  #delivery(event: DeliveryEvent): void {
    const { outcome, message, durations, endToEndMs } = event
    const consumer = this.#of(event.consumer)
    if (outcome === 'handled') {
      consumer.handled(message, durations, endToEndMs)
      if (durations?.settleMs !== undefined) consumer.settled(durations.settleMs)
      return
    }
    consumer.delivered(message, outcome, whyOf(event))
    const found = foundIn(event)
    if (found !== undefined) consumer.found(message, found)
    if (outcome === 'duplicate' && event.since !== undefined) {
      const ageMs = Math.max(0, this.#clock.now() - event.since)
      this.#cells.observed('duplicateAge', [consumer.name], ageMs / 1_000)
    }
  }

  #of(consumer: string): ConsumerCells {
    let cells = this.#consumers.get(consumer)
    if (cells === undefined) {
      cells = new ConsumerCells(this.#cells, {
        name: this.#names.of(consumer),
        destinations: this.#destinations,
        systems: this.#systems,
        store: () => this.#gauges.storeOf(consumer),
      })
      // Names are checked by `defineConsumer`, but an observer may be called by anybody.
      if (this.#consumers.size < MOST_CONSUMERS) this.#consumers.set(consumer, cells)
    }
    return cells
  }

  #zero(consumer: string): void {
    const { counters, histograms } = this.#cells
    for (const event of ALARMS) counters.events.at([consumer, event])
    for (const policy of ['rerun', 'park', 'reconcile']) counters.inDoubt.at([consumer, policy])
    for (const policy of ['run', 'park', 'skip']) counters.beyondRetention.at([consumer, policy])
    counters.attemptsFailed.at([consumer])
    for (const verdict of OBSERVED_VERDICTS) counters.observed.at([consumer, verdict])
    counters.unprotectedRuns.at([consumer])
    counters.purged.at([consumer])
    histograms.duplicateAge.at([consumer])
  }

  #event(consumer: string, event: string): void {
    this.#count('events', [this.#of(consumer).name, this.#events.of(event)])
  }

  #count(metric: CounterId, labels: readonly string[], by?: number): void {
    this.#cells.count(metric, labels, by)
  }
}

/** The value of the label `reason`. */
function whyOf({ outcome, reason, why, refused, endedAs }: DeliveryEvent): string {
  if (outcome === 'joined') return endedAs ?? ''
  if (outcome === 'settle-refused') return refused ?? ''
  if (why !== undefined) return why
  return reason === undefined ? '' : reasonOf(reason)
}

/** Where it was found that the message of a delivery is done; `undefined`: it is not, or this delivery had the run. */
function foundIn({ outcome, refused, endedAs, reason }: DeliveryEvent): Found | undefined {
  const isJoined = outcome === 'joined' || refused === 'joined'
  if (isJoined && !isDone(endedAs)) return undefined
  if (outcome === 'settle-refused') return isJoined || refused === 'duplicate' ? 'settle-refused' : undefined
  if (isJoined) return 'process'
  if (outcome !== 'duplicate') return undefined
  return reason === 'beyond-retention' ? 'beyond-retention' : 'store'
}
