import { systemClock } from '../foundation/clock.ts'
import { OBSERVED_VERDICTS } from '../core/observed.ts'
import type { DurationMs } from '../core/units.ts'
import { ERROR_CODES, isConsumeOnceError } from '../foundation/errors.ts'
import type { Clock } from '../ports/clock.ts'
import type { Durations, ObserverEvent } from '../ports/observer.ts'
import { isDone } from '../ports/outcome.ts'
import { REPLAY_ID_HEADER } from '../ports/replay.ts'
import { GaugeReader, type GaugeOptions, type Readings } from './gauges.ts'
import { closed, LabelValues } from './label-values.ts'
import { COUNTERS, HISTOGRAMS, idsOf, type CounterId, type HistogramId } from './metrics.ts'
import { GIVEN_UP_BECAUSE, PARKED_BECAUSE, reasonOf } from './reasons.ts'
import { counts, distributions, record, type Count, type Distribution, type Labels, type Series } from './series.ts'

export interface MeterOptions extends GaugeOptions {
  /** @defaultValue the system clock */
  readonly clock?: Clock
  /** Called with every value of a histogram, for systems that keep their own. `labels` is the same object each time. */
  readonly onObserved?: (metric: HistogramId, value: number, labels: Labels) => void
}

type DeliveryEvent = Extract<ObserverEvent, { type: 'delivery' }>

/** The most distinct values of labels that come from outside; all later ones are `other`. */
const MOST_CONSUMERS = 200
const MOST_DESTINATIONS = 200
const MOST_EVENTS = 60

const SYSTEMS = closed(['kafka', 'rabbitmq', 'memory'])

const errorCode = closed(Object.keys(ERROR_CODES))

/** Told as 0 from the start, so that a rate sees the first of them. */
const ALARMS = [
  'store-down',
  'stuck',
  'stalled',
  'lease-lost',
  'publish-failed',
  'purge-failed',
  'invariant-broken',
] as const

const STEPS = ['wait', 'claim', 'handler', 'mark', 'settle'] as const

/** What a delivery is counted in, found once for each consumer and destination. */
interface Destination {
  readonly name: string
  readonly handled: Count
  readonly duplicates: Count
  readonly endToEnd: Distribution
}

interface ConsumerCells {
  readonly name: string
  readonly destinations: Map<string, Destination>
  readonly steps: readonly Count[]
  /** By result. */
  readonly runs: Map<string, Distribution>
}

/**
 * Counts the events of any number of consumers by the table of metrics. An observer: `observe: meter.observe`. Nothing
 * is sent anywhere; whoever exports reads `counter`, `histogram` and `gauges()`.
 */
export class Meter {
  readonly #counters: { readonly [Id in CounterId]: Series<Count> }
  readonly #histograms: { readonly [Id in HistogramId]: Series<Distribution> }
  readonly #gauges: GaugeReader
  readonly #onObserved: MeterOptions['onObserved']
  readonly #clock: Clock
  #consumers = new Map<string, ConsumerCells>()
  readonly #names = new LabelValues(MOST_CONSUMERS)
  readonly #destinations = new LabelValues(MOST_DESTINATIONS)
  readonly #events = new LabelValues(MOST_EVENTS)

  constructor({ clock = systemClock, onObserved, ...options }: MeterOptions = {}) {
    this.#clock = clock
    this.#onObserved = onObserved
    this.#gauges = new GaugeReader(clock, options, { name: this.#names, destination: this.#destinations })
    this.#counters = Object.fromEntries(idsOf(COUNTERS).map((id) => [id, counts(COUNTERS[id])])) as never
    this.#histograms = Object.fromEntries(idsOf(HISTOGRAMS).map((id) => [id, distributions(HISTOGRAMS[id])])) as never
  }

  /** Bound: it can be given away as it is. It never throws. */
  readonly observe = (event: ObserverEvent): void => {
    switch (event.type) {
      case 'delivery':
        return this.#delivery(event)
      case 'store-call': {
        const { operation, count, durationMs, error } = event
        const { name } = this.#of(event.consumer)
        const store = this.#gauges.storeOf(event.consumer)
        this.#observed('storeDuration', [name, store, operation, errorLabel(error)], durationMs / 1_000)
        if (operation === 'claim' || operation === 'mark') this.#observed('batchSize', [name, operation], count)
        return
      }
      case 'handler-run':
        return this.#run(this.#of(event.consumer), event.result, event.durationMs)
      case 'started':
        this.#gauges.started(event)
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
      case 'store-down':
      case 'store-up':
      case 'stuck':
      case 'stalled':
      case 'stall-over':
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

  counter(metric: CounterId): readonly Count[] {
    return this.#counters[metric].all
  }

  histogram(metric: HistogramId): readonly Distribution[] {
    return this.#histograms[metric].all
  }

  /** What the started consumers and their stores say now. Takes at most about a second, and never rejects. */
  gauges(): Promise<Readings> {
    return this.#gauges.read()
  }

  /** Counts of this metric begin at 0 again. */
  reset(metric: CounterId | HistogramId): void {
    if (metric in this.#counters) this.#counters[metric as CounterId].clear()
    if (metric in this.#histograms) this.#histograms[metric as HistogramId].clear()
    this.#consumers = new Map()
  }

  #delivery(event: DeliveryEvent): void {
    const { outcome, message, durations, endToEndMs } = event
    const consumer = this.#of(event.consumer)
    const destination = this.#destination(consumer, message.destination, message.system)
    const isReplay = Object.hasOwn(message.headers, REPLAY_ID_HEADER)
    if (outcome === 'handled' && !isReplay) destination.handled.value++
    else {
      const [system, replay] = [SYSTEMS(message.system), String(isReplay)]
      this.#count('deliveries', [consumer.name, system, destination.name, outcome, whyOf(event), replay])
    }
    const found = foundIn(event)
    if (found === 'store') destination.duplicates.value++
    else if (found !== undefined) this.#count('duplicates', [consumer.name, destination.name, found])
    if (outcome === 'duplicate' && event.since !== undefined) {
      this.#observed('duplicateAge', [consumer.name], Math.max(0, this.#clock.now() - event.since) / 1_000)
    }
    if (outcome !== 'handled') return
    if (durations !== undefined) addSteps(consumer.steps, durations)
    if (endToEndMs !== undefined) this.#recorded('endToEnd', destination.endToEnd, endToEndMs / 1_000)
  }

  #run({ name, runs }: ConsumerCells, result: string, durationMs: DurationMs): void {
    let distribution = runs.get(result)
    if (distribution === undefined) {
      distribution = this.#histograms.handlerDuration.at([name, result])
      runs.set(result, distribution)
    }
    this.#recorded('handlerDuration', distribution, durationMs / 1_000)
  }

  #of(consumer: string): ConsumerCells {
    let cells = this.#consumers.get(consumer)
    if (cells === undefined) {
      const name = this.#names.of(consumer)
      const steps = STEPS.map((step) => this.#counters.steps.at([name, step]))
      cells = { name, destinations: new Map(), steps, runs: new Map() }
      // Names are checked by `defineConsumer`, but an observer may be called by anybody.
      if (this.#consumers.size < MOST_CONSUMERS) this.#consumers.set(consumer, cells)
    }
    return cells
  }

  #destination(consumer: ConsumerCells, raw: string, system: string): Destination {
    const known = consumer.destinations.get(raw)
    if (known !== undefined) return known
    const name = this.#destinations.of(raw)
    for (const found of ['process', 'settle-refused', 'beyond-retention']) {
      this.#counters.duplicates.at([consumer.name, name, found])
    }
    const zero = (outcome: string, reason: string): Count =>
      this.#counters.deliveries.at([consumer.name, SYSTEMS(system), name, outcome, reason, 'false'])
    for (const reason of GIVEN_UP_BECAUSE) zero('dead-lettered', reason)
    for (const reason of PARKED_BECAUSE) zero('parked', reason)
    const destination = {
      name,
      handled: zero('handled', ''),
      duplicates: this.#counters.duplicates.at([consumer.name, name, 'store']),
      endToEnd: this.#histograms.endToEnd.at([consumer.name, name]),
    }
    if (consumer.destinations.size < MOST_DESTINATIONS) consumer.destinations.set(raw, destination)
    return destination
  }

  #zero(consumer: string): void {
    for (const event of ALARMS) this.#counters.events.at([consumer, event])
    for (const policy of ['rerun', 'park', 'reconcile']) this.#counters.inDoubt.at([consumer, policy])
    for (const policy of ['run', 'park', 'skip']) this.#counters.beyondRetention.at([consumer, policy])
    this.#counters.attemptsFailed.at([consumer])
    for (const verdict of OBSERVED_VERDICTS) this.#counters.observed.at([consumer, verdict])
    this.#counters.unprotectedRuns.at([consumer])
    this.#counters.purged.at([consumer])
    this.#histograms.duplicateAge.at([consumer])
  }

  #event(consumer: string, event: string): void {
    this.#count('events', [this.#of(consumer).name, this.#events.of(event)])
  }

  #count(metric: CounterId, labels: readonly string[], by = 1): void {
    this.#counters[metric].at(labels).value += by
  }

  #observed(metric: HistogramId, labels: readonly string[], value: number): void {
    this.#recorded(metric, this.#histograms[metric].at(labels), value)
  }

  #recorded(metric: HistogramId, distribution: Distribution, value: number): void {
    record(distribution, HISTOGRAMS[metric].buckets, value)
    this.#onObserved?.(metric, value, distribution.labels)
  }
}

/** The value of the label `reason`. */
function whyOf({ outcome, reason, why, refused, endedAs }: DeliveryEvent): string {
  if (outcome === 'joined') return endedAs ?? ''
  if (outcome === 'settle-refused') return refused ?? ''
  if (why !== undefined) return why
  return reason === undefined ? '' : reasonOf(reason)
}

type Found = 'store' | 'process' | 'settle-refused' | 'beyond-retention'

/** Where it was found that the message of a delivery is done; `undefined`: it is not, or this delivery had the run. */
function foundIn({ outcome, refused, endedAs, reason }: DeliveryEvent): Found | undefined {
  const isJoined = outcome === 'joined' || refused === 'joined'
  if (isJoined && !isDone(endedAs)) return undefined
  if (outcome === 'settle-refused') return isJoined || refused === 'duplicate' ? 'settle-refused' : undefined
  if (isJoined) return 'process'
  if (outcome !== 'duplicate') return undefined
  return reason === 'beyond-retention' ? 'beyond-retention' : 'store'
}

function errorLabel(error: unknown): string {
  if (error === undefined) return ''
  return isConsumeOnceError(error) ? errorCode(error.code) : errorCode('')
}

function addSteps(
  [wait, claim, handler, mark, settle]: readonly Count[],
  { waitMs, claimMs, handlerMs, markMs, settleMs }: Durations,
): void {
  add(wait, waitMs)
  add(claim, claimMs)
  add(handler, handlerMs)
  add(mark, markMs)
  add(settle, settleMs)
}

function add(count: Count | undefined, ms: DurationMs | undefined): void {
  if (count !== undefined && ms !== undefined) count.value += ms / 1_000
}
