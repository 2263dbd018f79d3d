import { nameOf, type TopicPartition } from '../../kafka/topic-partition.ts'

/** A partition that this member fetches. A position moves by what was taken, or by `seek`. */
export interface Fetched extends TopicPartition {
  /** Unknown until the first metadata. */
  topicId: string | undefined
  position: bigint
  /** The leader epoch of the last message before the position, -1 if it was sought. */
  lastEpoch: number
  /** Its last batch is being taken. */
  isBusy: boolean
  /** How often in turn its position was out of range, and how often its fetches failed. */
  outOfRange: number
  failures: number
  /** Not fetched before. */
  notBefore: number
}

/** Which partitions a member fetches, in the order of the next request, and where each goes on. */
export class FetchedPartitions {
  /** By `topic/partition`, those that wait longest first. */
  readonly #all = new Map<string, Fetched>()
  /** By name, also of partitions that are not fetched: a pause outlives the assignment. */
  readonly #paused = new Map<string, TopicPartition>()
  /** Where partitions were sent that are assigned, and not fetched yet. */
  readonly #sought = new Map<string, bigint>()

  all(): readonly Fetched[] {
    return [...this.#all.values()]
  }

  /** These from now on, and no others. Those that it had before go on where they are, if they are kept. */
  assign(starts: ReadonlyMap<string, TopicPartition & { readonly position: bigint }>, isKept: boolean): void {
    const before = new Map(this.#all)
    this.#all.clear()
    for (const [name, { topic, partition, position }] of starts) {
      const kept = isKept ? before.get(name) : undefined
      this.#all.set(
        name,
        kept ?? {
          topic,
          partition,
          topicId: undefined,
          position: this.#sought.get(name) ?? position,
          lastEpoch: -1,
          isBusy: false,
          outOfRange: 0,
          failures: 0,
          notBefore: 0,
        },
      )
    }
    this.#sought.clear()
  }

  leave(partitions: readonly TopicPartition[]): void {
    for (const partition of partitions) this.#all.delete(nameOf(partition))
  }

  clear(): void {
    this.#all.clear()
  }

  seek(topic: string, partition: number, position: bigint): void {
    const name = nameOf({ topic, partition })
    const fetched = this.#all.get(name)
    if (fetched === undefined) {
      this.#sought.set(name, position)
      return
    }
    fetched.position = position
    fetched.lastEpoch = -1
  }

  pause(topic: string, partition: number, isPaused: boolean): void {
    const name = nameOf({ topic, partition })
    if (isPaused) this.#paused.set(name, { topic, partition })
    else this.#paused.delete(name)
  }

  paused(): readonly TopicPartition[] {
    return [...this.#paused.values()]
  }

  isPaused(fetched: Fetched): boolean {
    return this.#paused.has(nameOf(fetched))
  }

  /** What comes for a paused partition is fetched again later. */
  isWanted(fetched: Fetched, offset: bigint): boolean {
    return !this.isPaused(fetched) && this.isCurrent(fetched, offset)
  }

  /** It was not sought meanwhile, and is still ours. */
  isCurrent(fetched: Fetched, offset: bigint): boolean {
    return fetched.position === offset && this.#all.get(nameOf(fetched)) === fetched
  }

  /** The broker fills an answer in the order of the request. */
  behindOthers(fetched: Fetched): void {
    const name = nameOf(fetched)
    this.#all.delete(name)
    this.#all.set(name, fetched)
  }
}
