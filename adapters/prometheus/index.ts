import {
  ConfigError,
  having,
  Meter,
  needed,
  optionsOf,
  READ_STORES,
  type Observer,
  type Table,
} from '../../src/internal.ts'
import { collectors } from './collectors.ts'

/** The part of a prom-client registry that is used. */
export interface RegistryLike {
  registerMetric(metric: never): void
  getSingleMetric(name: string): unknown
}

export interface PrometheusOptions {
  /** The registry whose metrics you serve, such as `register` of prom-client. prom-client 14 and 15 work. */
  readonly registry: RegistryLike
  /**
   * Reads `consume_once_parked_messages`, `consume_once_given_up_messages`, `consume_once_held_partitions` and
   * `consume_once_purge_horizon_seconds` from the stores. A store is asked when the metrics are scraped, at most every 15 s, and less often if its answer takes
   * long: never for more than about 1 % of the time. On Redis a count looks at every key of the database.
   * @defaultValue true
   */
  readonly readStores?: boolean
}

interface Registered {
  readonly meter: Meter
  readonly metrics: readonly { readonly key: string }[]
}

/** One meter for each registry: several consumers share its metrics. */
const METERS = new WeakMap<RegistryLike, Registered>()

/**
 * Registers the metrics of the library (docs/observability.md) on your prom-client registry, and returns the observer
 * that counts: `observe: [prometheus({ registry: register })]`. Call it for each consumer; all of them share the metrics
 * of a registry, and the first call decides about `readStores`. After `registry.clear()`, call it again: counts then
 * begin at 0.
 *
 * Counting costs a few additions; text is made only for a scrape. A scrape waits at most a second for a store, and
 * leaves out what the store does not answer.
 *
 * @throws ConfigError `CONFIG_INVALID` if `registry` is not a registry, or already has a metric of one of these names
 */
export function prometheus(options: PrometheusOptions): Observer {
  const { registry, readStores } = optionsOf('prometheus', PROMETHEUS, options)
  const known = METERS.get(registry)
  if (known?.metrics.every((metric) => registry.getSingleMetric(metric.key) === metric)) return known.meter.observe
  const meter = new Meter({ readStores })
  const metrics = collectors(meter)
  const taken = metrics.filter(({ key }) => registry.getSingleMetric(key) !== undefined).map(({ key }) => key)
  if (taken.length > 0) {
    throw new ConfigError([`prometheus: registry: expected no metrics of the library yet, got ${taken.join(', ')}`])
  }
  for (const metric of metrics) registry.registerMetric(metric as never)
  METERS.set(registry, { meter, metrics })
  return meter.observe
}

const PROMETHEUS: Table<PrometheusOptions> = {
  registry: needed(having('a registry of prom-client, such as `register`', 'registerMetric', 'getSingleMetric')),
  readStores: READ_STORES,
}
