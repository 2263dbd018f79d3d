import type { Standing } from '../../../src/internal.ts'
import { PartitionEpoch } from './partition-epoch.ts'
import type { GroupJoin } from '../client.ts'
import { nameOf, type TopicPartition } from '../topic-partition.ts'

/**
 * The partitions of this member, and the live epoch of each.
 *
 *   join ──> settled: an epoch for each partition
 *   raise ─> undecided: no live epoch; lost partitions are unknown until the next join, so handlers go on
 */
export class Assignment {
  readonly #live = new Map<string, PartitionEpoch>()
  #owned: Set<string> | undefined
  /** Number of joins; 0 before the first. */
  joins = 0

  /** A join starts a new epoch for every partition, including those that were kept. */
  join(assigned: GroupJoin['memberAssignment']): void {
    this.joins++
    this.#endAll() // mutant: commit-of-a-lost-partition
    for (const [topic, partitions] of Object.entries(assigned)) {
      for (const partition of partitions) this.#start(topic, partition)
    }
    this.#owned = new Set(this.#live.keys())
  }

  /** Partitions came or went without a join (KIP-848): what stays goes on as it is. */
  change(assigned: GroupJoin['memberAssignment']): void {
    const owned = new Set(namesIn(assigned))
    for (const epoch of this.epochs) if (!owned.has(epoch.name)) this.#end(epoch)
    for (const [topic, partitions] of Object.entries(assigned)) {
      for (const partition of partitions) {
        if (!this.#live.has(nameOf({ topic, partition }))) this.#start(topic, partition)
      }
    }
    this.#owned = owned
  }

  /** These are lost. */
  leave(partitions: readonly TopicPartition[]): void {
    for (const { topic, partition } of partitions) {
      const epoch = this.live(topic, partition)
      if (epoch !== undefined) this.#end(epoch)
      this.#owned?.delete(nameOf({ topic, partition }))
    }
  }

  raise(): void {
    this.#endAll() // mutant: commit-of-a-lost-partition 2
    this.#owned = undefined
  }

  /** Starts a new epoch of one partition without a join: its log is another one, or it is read again. */
  renew(epoch: PartitionEpoch): PartitionEpoch {
    epoch.isVoid = true
    return this.#start(epoch.topic, epoch.partition)
  }

  /**
   * Ends an epoch: nothing of it can be settled. Returns its successor if it belongs to the current join; otherwise the
   * partition is not ours.
   */
  end(epoch: PartitionEpoch): PartitionEpoch | undefined {
    if (epoch.join === this.joins) return this.renew(epoch)
    this.#end(epoch)
    return undefined
  }

  live(topic: string, partition: number): PartitionEpoch | undefined {
    return this.#live.get(nameOf({ topic, partition }))
  }

  isLive(epoch: PartitionEpoch): boolean {
    return epoch.isLive
  }

  standingOf(epoch: PartitionEpoch): Standing {
    if (this.isLive(epoch)) return 'current'
    return this.#owned === undefined || this.#owned.has(epoch.name) ? 'stale' : 'lost'
  }

  get epochs(): readonly PartitionEpoch[] {
    return [...this.#live.values()]
  }

  #start(topic: string, partition: number): PartitionEpoch {
    const epoch = new PartitionEpoch(topic, partition, this.joins)
    const before = this.#live.get(epoch.name)
    before?.end()
    this.#live.set(epoch.name, epoch)
    epoch.isLive = true
    return epoch
  }

  #end(epoch: PartitionEpoch): void {
    if (this.#live.get(epoch.name) === epoch) this.#live.delete(epoch.name)
    epoch.end()
  }

  #endAll(): void {
    for (const epoch of this.#live.values()) epoch.end()
    this.#live.clear()
  }
}

function namesIn(assigned: GroupJoin['memberAssignment']): string[] {
  return Object.entries(assigned).flatMap(([topic, partitions]) =>
    partitions.map((partition) => nameOf({ topic, partition })),
  )
}
