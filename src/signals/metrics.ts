/** One metric, as Prometheus and OpenTelemetry get it. */
export interface Metric {
  /** Name in Prometheus: the name in OpenTelemetry with `_` for `.`, then the unit, then `_total` for a counter. */
  readonly name: string
  /** Name in OpenTelemetry. */
  readonly otel: string
  readonly kind: 'counter' | 'gauge' | 'histogram'
  /** As in OpenTelemetry: `s` for seconds, otherwise what is counted, in braces. */
  readonly unit: string
  /** One sentence. */
  readonly help: string
  readonly labels: readonly string[]
}

export interface HistogramMetric extends Metric {
  /** Upper bounds, ascending, without the last one, which is infinite. */
  readonly buckets: readonly number[]
}

export interface GaugeMetric extends Metric {
  /** How values with the same labels become one: of several runs of a consumer, or of the processes of a cluster. */
  readonly merge: 'sum' | 'max' | 'min'
}

/** As in the messaging conventions of OpenTelemetry. */
const DURATION_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]

/** A message can wait much longer than a call takes. */
const END_TO_END_BUCKETS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 21_600, 86_400]

const SIZE_BUCKETS = [1, 2, 5, 10, 20, 50, 100, 200, 500]

const HOUR = 3_600
const DAY = 24 * HOUR
const AGE_BUCKETS = [1, 10, 60, 300, 900, HOUR, 6 * HOUR, DAY, 2 * DAY, 3 * DAY, 5 * DAY, 7 * DAY, 14 * DAY, 30 * DAY]

export type CounterId =
  | 'deliveries'
  | 'duplicates'
  | 'steps'
  | 'attemptsFailed'
  | 'inDoubt'
  | 'beyondRetention'
  | 'purged'
  | 'observed'
  | 'unprotectedRuns'
  | 'events'
  | 'outboxPublished'
  | 'outboxRefused'

export type HistogramId = 'duplicateAge' | 'endToEnd' | 'handlerDuration' | 'storeDuration' | 'batchSize'

export type GaugeId =
  | 'ready'
  | 'live'
  | 'storeUp'
  | 'inFlight'
  | 'claimsActive'
  | 'slots'
  | 'limitWaiting'
  | 'oldestUnfinished'
  | 'watermarkLag'
  | 'partitionLag'
  | 'backlog'
  | 'parked'
  | 'givenUp'
  | 'heldPartitions'
  | 'storeReadingAge'
  | 'purgeHorizon'
  | 'retention'
  | 'lease'
  | 'outboxWaiting'
  | 'outboxParked'
  | 'outboxOldest'

export const COUNTERS: Readonly<Record<CounterId, Metric>> = named<CounterId, Metric>('counter', {
  deliveries: {
    otel: 'consume_once.deliveries',
    unit: '{delivery}',
    help: 'Deliveries by their outcome. The reason is that of a dead letter or of a hand-back, or, for `joined`, how the first delivery ended.',
    labels: ['consumer', 'system', 'destination', 'outcome', 'reason', 'replay'],
  },
  duplicates: {
    otel: 'consume_once.duplicates',
    unit: '{delivery}',
    help: 'Deliveries that did not run because their message was done: found in the store, joined in the process, seen at a refused settle, or assumed because they are beyond the retention.',
    labels: ['consumer', 'destination', 'found'],
  },
  steps: {
    otel: 'consume_once.step',
    unit: 's',
    help: 'Time that handled messages spent in a step: wait, claim, handler, mark, settle. Divided by the handled deliveries it is the mean.',
    labels: ['consumer', 'step'],
  },
  attemptsFailed: {
    otel: 'consume_once.attempts.failed',
    unit: '{attempt}',
    help: 'Attempts that failed and are tried again.',
    labels: ['consumer'],
  },
  inDoubt: {
    otel: 'consume_once.in_doubt',
    unit: '{message}',
    help: 'Messages in doubt: a process ended, or a handler was cut off, between effect and mark.',
    labels: ['consumer', 'policy'],
  },
  beyondRetention: {
    otel: 'consume_once.beyond_retention',
    unit: '{message}',
    help: 'Messages without a record that are older than the retention, by what was done.',
    labels: ['consumer', 'policy'],
  },
  purged: {
    otel: 'consume_once.purged',
    unit: '{record}',
    help: 'Records removed because their retention had ended.',
    labels: ['consumer'],
  },
  observed: {
    otel: 'consume_once.observed',
    unit: '{message}',
    help: 'Mode observe: messages that ran, by what would have become of them: run, duplicate, conflict, in-doubt, busy, dead-letter, or unknown if the store was not asked.',
    labels: ['consumer', 'verdict'],
  },
  unprotectedRuns: {
    otel: 'consume_once.unprotected_runs',
    unit: '{message}',
    help: 'Messages that ran without the protection of a claim, or were settled before their mark, because the store did not answer.',
    labels: ['consumer'],
  },
  events: {
    otel: 'consume_once.events',
    unit: '{event}',
    help: 'Events of the pipeline and of the source, by name.',
    labels: ['consumer', 'event'],
  },
  outboxPublished: {
    otel: 'consume_once.outbox.published',
    unit: '{message}',
    help: 'Messages of the outbox that this process has published and their broker has confirmed. Consumers that share an outbox count them once, under the first of them.',
    labels: ['consumer', 'destination'],
  },
  outboxRefused: {
    otel: 'consume_once.outbox.refused',
    unit: '{message}',
    help: 'Messages of the outbox that their broker has refused, each time. They are tried again or parked.',
    labels: ['consumer', 'destination'],
  },
})

export const HISTOGRAMS: Readonly<Record<HistogramId, HistogramMetric>> = named<HistogramId, HistogramMetric>(
  'histogram',
  {
    duplicateAge: {
      otel: 'consume_once.duplicate.age',
      unit: 's',
      help: 'Time from the mark of a message to its duplicate. The retention must be longer.',
      labels: ['consumer'],
      buckets: AGE_BUCKETS,
    },
    endToEnd: {
      otel: 'consume_once.end_to_end.duration',
      unit: 's',
      help: 'Time from the timestamp of a message to the end of the delivery that handled it.',
      labels: ['consumer', 'destination'],
      buckets: END_TO_END_BUCKETS,
    },
    handlerDuration: {
      otel: 'consume_once.handler.duration',
      unit: 's',
      help: 'Runs of the handler, by result. A batch is one run.',
      labels: ['consumer', 'result'],
      buckets: DURATION_BUCKETS,
    },
    storeDuration: {
      otel: 'consume_once.store.operation.duration',
      unit: 's',
      help: 'Calls of the store. The error is a code of the library, or other; empty if the call succeeded.',
      labels: ['consumer', 'store', 'operation', 'error'],
      buckets: DURATION_BUCKETS,
    },
    batchSize: {
      otel: 'consume_once.batch.size',
      unit: '{message}',
      help: 'Messages that share one claim or one mark.',
      labels: ['consumer', 'stage'],
      buckets: SIZE_BUCKETS,
    },
  },
)

export const GAUGES: Readonly<Record<GaugeId, GaugeMetric>> = named<GaugeId, GaugeMetric>('gauge', {
  ready: {
    otel: 'consume_once.ready',
    unit: '{consumer}',
    help: '1 if the consumer is ready, else 0.',
    labels: ['consumer'],
    merge: 'min',
  },
  live: {
    otel: 'consume_once.live',
    unit: '{consumer}',
    help: '0 if only a restart would help, else 1.',
    labels: ['consumer'],
    merge: 'min',
  },
  storeUp: {
    otel: 'consume_once.store.up',
    unit: '{store}',
    help: '0 while the store does not answer, else 1.',
    labels: ['consumer', 'store'],
    merge: 'min',
  },
  inFlight: {
    otel: 'consume_once.in_flight',
    unit: '{delivery}',
    help: 'Deliveries taken from the broker and not ended.',
    labels: ['consumer'],
    merge: 'sum',
  },
  claimsActive: {
    otel: 'consume_once.claims.active',
    unit: '{message}',
    help: 'Messages that this process has claimed and not marked or given back.',
    labels: ['consumer'],
    merge: 'sum',
  },
  slots: {
    otel: 'consume_once.slots',
    unit: '{message}',
    help: 'How many messages may be claimed at once: `concurrency`, or `transactions` times `batchSize` where the store has the transaction.',
    labels: ['consumer'],
    merge: 'sum',
  },
  limitWaiting: {
    otel: 'consume_once.limit.waiting',
    unit: '{message}',
    help: 'Messages that wait for the rate of the option `limit`, before their claim.',
    labels: ['consumer'],
    merge: 'sum',
  },
  oldestUnfinished: {
    otel: 'consume_once.oldest_unfinished',
    unit: 's',
    help: 'How long the watermark of a partition has been at an unfinished message; of a queue, how long ago its oldest unfinished message arrived.',
    labels: ['consumer', 'destination', 'partition'],
    merge: 'max',
  },
  watermarkLag: {
    otel: 'consume_once.watermark.lag',
    unit: '{message}',
    help: 'Offsets from the committed one to the watermark: finished, but not committed.',
    labels: ['consumer', 'destination', 'partition'],
    merge: 'max',
  },
  partitionLag: {
    otel: 'consume_once.partition.lag',
    unit: '{message}',
    help: 'Offsets from the watermark to the end of the partition: not finished.',
    labels: ['consumer', 'destination', 'partition'],
    merge: 'max',
  },
  backlog: {
    otel: 'consume_once.backlog.messages',
    unit: '{message}',
    help: 'Messages that wait at the broker for the consumer: of a topic those from the committed offsets to the ends, of a queue those that are ready. Every process reports the same ones.',
    labels: ['consumer', 'destination'],
    merge: 'max',
  },
  parked: {
    otel: 'consume_once.parked.messages',
    unit: '{message}',
    help: 'Messages in the store that wait for a person, at most 10000. Every process reports the same ones.',
    labels: ['consumer', 'reason'],
    merge: 'max',
  },
  givenUp: {
    otel: 'consume_once.given_up.messages',
    unit: '{message}',
    help: 'Messages in the store that were given up and that nobody has decided about, at most 10000. Messages without a usable ID and conflicts have no record, so they are not in it. Every process reports the same ones.',
    labels: ['consumer', 'reason'],
    merge: 'max',
  },
  heldPartitions: {
    otel: 'consume_once.held_partitions',
    unit: '{partition}',
    help: 'Strategy offsets: partitions that are held until a person decides. Every process reports the same ones.',
    labels: ['consumer'],
    merge: 'max',
  },
  storeReadingAge: {
    otel: 'consume_once.store_reading.age',
    unit: 's',
    help: 'How old the gauges from the store are: parked and given-up messages, held partitions, the purge horizon. They stay while the store does not answer.',
    labels: ['consumer'],
    merge: 'max',
  },
  purgeHorizon: {
    otel: 'consume_once.purge.horizon',
    unit: 's',
    help: 'Age, in seconds. Of a message that is older, the absence of a record proves nothing.',
    labels: ['consumer', 'store'],
    merge: 'min',
  },
  retention: {
    otel: 'consume_once.retention',
    unit: 's',
    help: 'The retention of the consumer.',
    labels: ['consumer'],
    merge: 'min',
  },
  lease: {
    otel: 'consume_once.lease',
    unit: 's',
    help: 'The lease of the consumer.',
    labels: ['consumer'],
    merge: 'max',
  },
  outboxWaiting: {
    otel: 'consume_once.outbox.waiting',
    unit: '{message}',
    help: 'Messages in the outbox of the store of the consumer that are committed and not confirmed by their broker, at most 10000. Every process reports the same ones.',
    labels: ['consumer', 'destination'],
    merge: 'max',
  },
  outboxParked: {
    otel: 'consume_once.outbox.parked',
    unit: '{message}',
    help: 'Messages in the outbox that were refused too often and wait for a person. Every process reports the same ones.',
    labels: ['consumer', 'destination'],
    merge: 'max',
  },
  outboxOldest: {
    otel: 'consume_once.outbox.oldest',
    unit: 's',
    help: 'Age of the oldest message in the outbox that waits.',
    labels: ['consumer', 'destination'],
    merge: 'max',
  },
})

/** What a table says of a metric; its name in Prometheus follows from that. */
function named<Id extends string, Kind extends Metric>(
  kind: Kind['kind'],
  table: Readonly<Record<Id, Omit<Kind, 'name' | 'kind'> & Pick<Metric, 'otel' | 'unit'>>>,
): Readonly<Record<Id, Kind>> {
  const all = Object.entries<Pick<Metric, 'otel' | 'unit'>>(table).map(([id, metric]) => {
    const { otel, unit } = metric
    const suffix = `${unit === 's' ? '_seconds' : ''}${kind === 'counter' ? '_total' : ''}`
    return [id, { ...metric, kind, name: otel.replaceAll('.', '_') + suffix }]
  })
  return Object.fromEntries(all) as Readonly<Record<Id, Kind>>
}

/** All metrics. The page docs/observability.md shows this table; `npm run fix` writes it. */
export const METRICS: readonly Metric[] = [COUNTERS, HISTOGRAMS, GAUGES].flatMap((kind) => Object.values<Metric>(kind))

/** The names in one of the three tables. */
export function idsOf<Id extends string>(table: Readonly<Record<Id, Metric>>): readonly Id[] {
  return Object.keys(table) as Id[]
}
