import type { Clock } from '../ports/clock.ts'
import type { Health } from '../ports/health.ts'
import type { ObserverEvent } from '../ports/observer.ts'
import type { OutboxBacklog } from '../ports/outbox.ts'
import type { Backlog } from '../ports/source.ts'
import { LabelValues } from './label-values.ts'
import { GAUGES, idsOf, type GaugeId } from './metrics.ts'
import { factsOf, Reading as Asking, withinASecond, type StoreFacts } from './store-reading.ts'

export interface GaugeOptions {
  /**
   * Reads `parked_messages`, `given_up_messages`, `held_partitions`, `purge_horizon` and what waits in an outbox from the
   * stores. A store is asked when the gauges are read, not more often than every 15 s, and never for more than about 1 % of
   * the time.
   * @defaultValue true
   */
  readonly readStores?: boolean
}

interface Reading {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export type Readings = { readonly [Id in GaugeId]: readonly Reading[] }

type StartedEvent = Extract<ObserverEvent, { type: 'started' }>

interface Started {
  readonly event: StartedEvent
  readonly consumer: string
  readonly store: string
  readonly reading: Asking<StoreFacts> | undefined
  readonly backlog: Asking<readonly Backlog[]> | undefined
  readonly outbox: Asking<readonly OutboxBacklog[]> | undefined
}

/** Partitions of one process with gauges of their own; the largest value of all further ones has partition `other`. */
const MOST_PARTITIONS = 1_000
const MOST_STORES = 50
const OLD_BACKLOG_MS = 5 * 60_000

/** Reads the gauges of all started consumers, when they are asked for. */
export class GaugeReader {
  readonly #clock: Clock
  readonly #readStores: boolean
  readonly #names: LabelValues
  readonly #destinations: LabelValues
  readonly #stores = new LabelValues(MOST_STORES)
  /** The runs of each consumer, by its name. */
  readonly #started = new Map<string, Started[]>()
  #under: Promise<Readings> | undefined

  constructor(
    clock: Clock,
    { readStores = true }: GaugeOptions,
    values: { readonly name: LabelValues; readonly destination: LabelValues },
  ) {
    this.#clock = clock
    this.#readStores = readStores
    this.#names = values.name
    this.#destinations = values.destination
  }

  started(event: StartedEvent): void {
    const { consumer: name, store } = event
    const isReadable = store.strategy === 'offsets' || store.admin !== undefined
    const reading = this.#readStores && isReadable ? new Asking(this.#clock, () => factsOf(event)) : undefined
    const { backlog: askBacklog } = event
    const backlog = askBacklog && new Asking(this.#clock, askBacklog)
    const { outbox: told } = store
    const outbox = told && this.#readStores ? new Asking(this.#clock, () => told.backlog()) : undefined
    const started = {
      event,
      consumer: this.#names.of(name),
      store: this.#stores.of(store.name ?? store.strategy),
      reading,
      backlog,
      outbox,
    }
    this.#started.set(name, [...(this.#started.get(name) ?? []), started])
  }

  /** The event does not say which run of the consumer it was. */
  stopped(consumer: string): void {
    const left = this.#started.get(consumer)?.filter(({ event }) => healthOf(event)?.state !== 'stopped') ?? []
    if (left.length === 0) this.#started.delete(consumer)
    else this.#started.set(consumer, left)
  }

  /** The label of the store of this consumer; empty before its start. */
  storeOf(consumer: string): string {
    return this.#started.get(consumer)?.[0]?.store ?? ''
  }

  /** Whoever asks while it reads gets the same readings: an exporter asks once for each metric. */
  read(): Promise<Readings> {
    this.#under ??= this.#read().finally(() => (this.#under = undefined))
    return this.#under
  }

  async #read(): Promise<Readings> {
    const all = [...this.#started.values()].flat()
    await Promise.all(
      all.flatMap((one) => [
        this.#refresh(one),
        ...(one.backlog === undefined ? [] : [one.backlog.refresh()]),
        ...(one.outbox === undefined ? [] : [one.outbox.refresh()]),
      ]),
    )
    const healths = all.map((one) => ({ ...one, health: healthOf(one.event) }))
    const merged = new Merged()
    const partitions = new LabelValues(MOST_PARTITIONS)
    for (const one of healths) {
      this.#readHealth(one, merged, partitions)
      this.#readFacts(one, merged)
      this.#readBacklog(one, merged)
      this.#readOutbox(one, merged)
    }
    return merged.readings
  }

  /** Before its health is read, so that this shows at once that the store does not answer. */
  async #refresh({ event, reading }: Started): Promise<void> {
    const health = healthOf(event)
    if (reading === undefined || health === undefined || isStoreDown(health)) return
    const refreshed = await reading.refresh()
    if (refreshed === 'answered' || event.checkStore === undefined) return
    const checking = event.checkStore(refreshed !== 'as-it-was')
    if (refreshed !== 'late') await withinASecond(this.#clock, checking)
  }

  /** An old one is left out: nothing tells how it has grown. */
  #readBacklog({ consumer, backlog }: Started, merged: Merged): void {
    if (backlog?.facts === undefined || backlog.ageMs > OLD_BACKLOG_MS) return
    for (const { destination, messages } of backlog.facts) {
      merged.add('backlog', { consumer, destination: this.#destinations.of(destination) }, messages)
    }
  }

  #readOutbox({ consumer, outbox }: Started, merged: Merged): void {
    if (outbox?.facts === undefined || outbox.ageMs > OLD_BACKLOG_MS) return
    for (const { place, waiting, parked, oldestMs } of outbox.facts) {
      const labels = { consumer, destination: this.#destinations.of(place) }
      merged.add('outboxWaiting', labels, waiting)
      merged.add('outboxParked', labels, parked)
      merged.add('outboxOldest', labels, oldestMs / 1_000)
    }
  }

  #readFacts(
    { consumer, store, reading, health }: Started & { readonly health: Health | undefined },
    merged: Merged,
  ): void {
    if (reading === undefined || health === undefined) return
    merged.add('storeReadingAge', { consumer }, reading.ageMs / 1_000)
    const { facts } = reading
    if (facts === undefined) return
    for (const [reason, count] of facts.parked ?? []) merged.add('parked', { consumer, reason }, count)
    for (const [reason, count] of facts.givenUp ?? []) merged.add('givenUp', { consumer, reason }, count)
    if (facts.held !== undefined) merged.add('heldPartitions', { consumer }, facts.held)
    if (facts.knownSince !== undefined) {
      const agoMs = Math.max(0, this.#clock.now() - facts.knownSince)
      merged.add('purgeHorizon', { consumer, store }, agoMs / 1_000)
    }
  }

  #readHealth(
    { event, consumer, store, health }: Started & { readonly health: Health | undefined },
    merged: Merged,
    partitions: LabelValues,
  ): void {
    merged.add('retention', { consumer }, event.retentionMs / 1_000)
    merged.add('lease', { consumer }, event.leaseMs / 1_000)
    if (health === undefined) return
    merged.add('ready', { consumer }, health.ready ? 1 : 0)
    merged.add('live', { consumer }, health.live ? 1 : 0)
    merged.add('storeUp', { consumer, store }, isStoreDown(health) ? 0 : 1)
    merged.add('inFlight', { consumer }, health.inFlight)
    merged.add('claimsActive', { consumer }, health.claimed)
    merged.add('slots', { consumer }, health.slots)
    if (health.limited !== undefined) merged.add('limitWaiting', { consumer }, health.limited)
    if (health.partitions.length === 0) {
      const labels = { consumer, destination: this.#destinations.of(event.group), partition: '' }
      merged.add('oldestUnfinished', labels, health.oldestUnfinishedMs / 1_000)
    }
    for (const { name, watermark, committed, lag, watermarkAgeMs } of health.partitions) {
      // A topic has no slash, so the last one is before the partition.
      const at = name.lastIndexOf('/')
      const kept = partitions.of(name)
      const partition = kept.slice(kept.lastIndexOf('/') + 1)
      const labels = { consumer, destination: this.#destinations.of(name.slice(0, Math.max(0, at))), partition }
      merged.add('oldestUnfinished', labels, watermarkAgeMs / 1_000)
      if (lag !== undefined) merged.add('partitionLag', labels, lag)
      if (watermark !== undefined && committed !== undefined) {
        merged.add('watermarkLag', labels, Math.max(0, offsetsBetween(committed, watermark)))
      }
    }
  }
}

/** The readings of all runs; those with the same labels become one. */
class Merged {
  readonly #values = Object.fromEntries(idsOf(GAUGES).map((id) => [id, new Map<string, Reading>()])) as {
    readonly [Id in GaugeId]: Map<string, Reading>
  }

  get readings(): Readings {
    return Object.fromEntries(idsOf(GAUGES).map((id) => [id, [...this.#values[id].values()]])) as never
  }

  add(id: GaugeId, labels: Reading['labels'], value: number): void {
    if (!Number.isFinite(value)) return
    const key = JSON.stringify(Object.values(labels))
    const other = this.#values[id].get(key)
    this.#values[id].set(key, {
      labels,
      value: other === undefined ? value : MERGE[GAUGES[id].merge](other.value, value),
    })
  }
}

const MERGE = { sum: (a: number, b: number) => a + b, max: Math.max, min: Math.min } as const

function isStoreDown({ checks }: Health): boolean {
  return checks['store'] === 'down'
}

/** `undefined`: the source of this consumer threw. */
function healthOf({ health }: StartedEvent): Health | undefined {
  try {
    return health()
  } catch {
    return undefined
  }
}

/** Offsets are 64 bits wide; their distance is not. */
function offsetsBetween(from: string, to: string): number {
  try {
    return Number(BigInt(to) - BigInt(from))
  } catch {
    return Number.NaN
  }
}
