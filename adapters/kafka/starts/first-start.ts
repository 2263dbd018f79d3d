import { setTimeout as sleep } from 'node:timers/promises'
import type { AdminClient } from '../admin-client.ts'
import { NEVER_COMMITTED, type Committed, type GroupOffsets } from '../commits/group-offsets.ts'
import type { PartitionEpoch } from '../membership/partition-epoch.ts'

const LOOK_AGAIN_MS = 100
/** How long to wait for partitions of another member, which may have another `start` option. */
const SETTLE_WITHIN_MS = 30_000

/**
 * `startAt: 'latest'`: where a group begins in a topic without committed offsets. kafkajs itself always begins at the
 * beginning, because it would apply another setting after every OFFSET_OUT_OF_RANGE too.
 *
 * The ends are read before the group is joined. Nothing of a partition is taken before its end is committed, in the
 * generation that found no committed offset. So nobody overwrites the progress of another member. Messages sent after
 * any member's start lie past all ends. Members that start at the same time, or die meanwhile, can only begin earlier.
 */
export class FirstStart {
  readonly #adminClient: AdminClient
  readonly #offsets: GroupOffsets
  #topics: readonly string[]
  /**
   * The ends of partitions without a committed offset. An end is removed once an offset is committed: it would be wrong
   * after the topic was deleted and created anew.
   */
  readonly #ends = new Map<string, bigint>()

  constructor(adminClient: AdminClient, offsets: GroupOffsets, topics: readonly string[]) {
    this.#adminClient = adminClient
    this.#offsets = offsets
    this.#topics = topics
  }

  /**
   * Call it before the group is joined. A reset by kafkajs (-2) counts as a commit: a topic is new only if no partition
   * has one.
   */
  async look(): Promise<void> {
    const existing = new Set(await this.#adminClient.ask((admin) => admin.listTopics()))
    const topics = this.#topics.filter((topic) => existing.has(topic))
    this.#topics = topics
    const committed = await this.#offsets.allCommitted(topics)
    for (const topic of topics) {
      const own = [...committed].filter(([name]) => name.startsWith(`${topic}/`))
      if (own.some(([, { offset }]) => offset !== NEVER_COMMITTED)) continue
      for (const [partition, { high }] of await this.#offsets.boundsOf(topic))
        this.#ends.set(`${topic}/${partition}`, high)
    }
  }

  /** Where a partition without a committed offset begins. */
  endOf({ name }: PartitionEpoch): bigint | undefined {
    return this.#ends.get(name)
  }

  /** Resolves when the group has an offset in each of the partitions, from `commit` or from another member. */
  async settle(commit: () => Promise<void>, isOver: () => boolean): Promise<void> {
    const deadline = performance.now() + SETTLE_WITHIN_MS
    while (this.#ends.size > 0 && !isOver() && performance.now() < deadline) {
      await commit()
      const committed = await this.#offsets.allCommitted(this.#topics).catch(() => NOTHING)
      for (const name of this.#ends.keys()) {
        if ((committed.get(name)?.offset ?? NEVER_COMMITTED) !== NEVER_COMMITTED) this.#ends.delete(name)
      }
      if (this.#ends.size > 0) await sleep(LOOK_AGAIN_MS)
    }
  }
}

const NOTHING: ReadonlyMap<string, Committed> = new Map()
