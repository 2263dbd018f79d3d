import type { Assignment } from './assignment.ts'
import type { Hold, PartitionEpoch } from './partition-epoch.ts'
import type { Report } from '../report.ts'
import { nameOf, type TopicPartition } from '../topic-partition.ts'
import type { MemberControl, TopicPartitions } from '../client.ts'

interface HoldsParts {
  readonly assignment: Assignment
  readonly report: Report
  /** `undefined` between a crash and the next consumer. */
  readonly consumer: () => MemberControl | undefined
  /** Called right before a partition is fetched again. */
  readonly resuming: (epoch: PartitionEpoch) => void
}

/**
 * Decides which partitions kafkajs fetches. Paused partitions keep the membership alive: the fetch loop continues
 * without them and sends heartbeats. kafkajs keeps a pause beyond its assignment, even if the partition is lost and
 * comes back. So the set of paused partitions is computed anew after every change, and always by name.
 */
export class PartitionHolds {
  readonly #parts: HoldsParts
  /** What all partitions do. `paused`: the store is down. Nothing follows `ended`. */
  #flow: 'fetching' | 'paused' | 'ended' = 'fetching'
  /** No other partitions are fetched. */
  #only: ReadonlySet<string> | undefined

  constructor(parts: HoldsParts) {
    this.#parts = parts
  }

  get isFetching(): boolean {
    return this.#flow === 'fetching'
  }

  get isPaused(): boolean {
    return this.#flow === 'paused'
  }

  pause(): void {
    this.#turn('paused')
  }

  resume(): void {
    this.#turn('fetching')
  }

  /** Fetches nothing any more, and keeps the membership. */
  end(): void {
    this.#turn('ended')
  }

  #turn(to: 'fetching' | 'paused' | 'ended'): void {
    if (this.#flow !== 'ended') this.#flow = to
    this.apply()
  }

  /** Fetches no partitions but these, by name, until the next call. `undefined`: no such limit. */
  fetchOnly(names: readonly string[] | undefined): void {
    this.#only = names && new Set(names)
    this.apply()
  }

  hold(epoch: PartitionEpoch, why: Hold): void {
    if (epoch.holds.has(why)) return
    epoch.holds.add(why)
    if (!this.#parts.assignment.isLive(epoch)) return
    this.apply()
    this.#parts.report('partition-paused', `${epoch.name}: ${why}`)
  }

  release(epoch: PartitionEpoch, why: Hold): void {
    if (!epoch.holds.delete(why) || !this.#parts.assignment.isLive(epoch)) return
    this.apply()
    this.#parts.report('partition-resumed', `${epoch.name}: ${why}`)
  }

  /** Must also be called after every join. */
  apply(): void {
    const consumer = this.#parts.consumer()
    if (consumer === undefined) return
    const wanted = new Map<string, PartitionEpoch>()
    for (const epoch of this.#parts.assignment.epochs) {
      const isLeftOut = this.#only?.has(epoch.name) === false
      if (this.#flow !== 'fetching' || isLeftOut || epoch.holds.size > 0) wanted.set(epoch.name, epoch)
    }
    try {
      const paused = consumer
        .paused()
        .flatMap(({ topic, partitions }) => partitions.map((partition) => ({ topic, partition })))
      const names = new Set(paused.map(nameOf))
      const toPause = [...wanted.values()].filter((epoch) => !names.has(epoch.name))
      const toResume = paused.filter((partition) => !wanted.has(nameOf(partition)))
      if (toPause.length > 0) consumer.pause(byTopic(toPause))
      for (const { topic, partition } of toResume) {
        const epoch = this.#parts.assignment.live(topic, partition)
        if (epoch !== undefined) this.#parts.resuming(epoch)
      }
      if (toResume.length > 0) consumer.resume(byTopic(toResume))
    } catch {
      // Between a crash and the next join there is no group. The join calls it again.
    }
  }
}

function byTopic(partitions: readonly TopicPartition[]): TopicPartitions[] {
  const topics = new Map<string, number[]>()
  for (const { topic, partition } of partitions) topics.set(topic, [...(topics.get(topic) ?? []), partition])
  return [...topics].map(([topic, numbers]) => ({ topic, partitions: numbers }))
}
