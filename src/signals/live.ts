import type { EpochMs } from '../core/units.ts'
import { systemEntropy } from '../foundation/entropy.ts'
import { optionsOf, plainText, type Table } from '../foundation/options.ts'
import { clockOption } from '../foundation/system-options.ts'
import type { Pausable } from '../ports/lifecycle.ts'
import type { Clock } from '../ports/clock.ts'
import type { Observer, ObserverEvent } from '../ports/observer.ts'
import { LiveConsumerState } from './live-consumer.ts'
import type { LiveSnapshot } from './live-snapshot.ts'

export interface LiveSignalsOptions {
  /** @defaultValue the system clock */
  readonly clock?: Clock
}

export interface SnapshotQuery {
  /** `recent` then has all entries of this key that are remembered, instead of the newest of all keys. */
  readonly key?: string | undefined
}

/** An observer that remembers what a dashboard shows. One may serve several consumers, if their names differ. */
export interface LiveSignals extends Observer {
  /** A JSON object. Takes about a millisecond for each consumer. */
  snapshot(query?: SnapshotQuery): LiveSnapshot
  /** Runs of a consumer of this name in this process that can be paused: those of `runKafka`, `runRabbit` and `runMemory`. */
  controlsOf(consumer: string): readonly Pausable[]
}

const LIVE: Table<LiveSignalsOptions> = { clock: clockOption() }
const SNAPSHOT: Table<SnapshotQuery, 'key'> = { key: plainText() }

/** Consumers beyond this are not remembered. */
const MOST_CONSUMERS = 100

/**
 * Remembers what the consumers of this process did lately, in bounded memory: outcomes and latency in steps of 10 s for an hour, the
 * last 5,000 deliveries and failed attempts, and the last 100 events of the broker and the store. That is at most 4 MB for each consumer.
 * No payload, no header and no raw ID is kept.
 *
 * Give it to `observe`, and its snapshot to `serveHealth` or `dashboard`:
 * `const live = liveSignals(); defineConsumer({ ..., observe: live })`
 *
 * @throws ConfigError `CONFIG_INVALID` for an unknown option, also of `snapshot`
 */
export function liveSignals(options: LiveSignalsOptions = {}): LiveSignals {
  const { clock } = optionsOf('liveSignals', LIVE, options)
  const instance = systemEntropy.ownerToken().slice(0, 12)
  const since: EpochMs = clock.now()
  const consumers = new Map<string, LiveConsumerState>()
  const observe = (event: ObserverEvent): void => {
    let consumer = consumers.get(event.consumer)
    if (consumer === undefined) {
      if (consumers.size >= MOST_CONSUMERS) return
      consumer = new LiveConsumerState(event.consumer, since)
      consumers.set(event.consumer, consumer)
    }
    consumer.add(event, clock.now())
  }
  const snapshot = (query: SnapshotQuery = {}): LiveSnapshot => {
    const { key } = optionsOf('snapshot', SNAPSHOT, query)
    const at = clock.now()
    return {
      schemaVersion: 1,
      instance,
      at,
      since,
      consumers: [...consumers.values()].map((consumer) => consumer.snapshot(at, key)),
    }
  }
  const controlsOf = (consumer: string): readonly Pausable[] => consumers.get(consumer)?.controls ?? []
  return Object.assign(observe, { snapshot, controlsOf })
}
