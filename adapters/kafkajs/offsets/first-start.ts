import { setTimeout as sleep } from 'node:timers/promises'
import type { AdminDesk } from './admin-desk.ts'
import type { GroupOffsets } from './group-offsets.ts'
import type { PartitionEpoch } from '../membership/partition-epoch.ts'

const LOOK_AGAIN_MS = 100
/** Another member may have been asked to start elsewhere: its partitions are not waited for any longer. */
const SETTLE_WITHIN_MS = 30_000

/**
 * `start: 'latest'`: where a group that has never committed in a topic begins. kafkajs itself always begins at the beginning,
 * because it would do as told after every OFFSET_OUT_OF_RANGE too.
 *
 * The ends are read before the group is joined, and nothing of a partition is taken before its end is committed, in the
 * generation that found nothing committed there. So nobody overwrites what another member has done; what is sent after any
 * member's start lies past all ends; and members that start at once, or die meanwhile, can only begin earlier.
 */
export class FirstStart {
  readonly #desk: AdminDesk
  readonly #offsets: GroupOffsets
  #topics: readonly string[]
  /** Of partitions in which the group has no offset yet: an end says nothing about what is written over a deleted topic. */
  readonly #ends = new Map<string, bigint>()

  constructor(desk: AdminDesk, offsets: GroupOffsets, topics: readonly string[]) {
    this.#desk = desk
    this.#offsets = offsets
    this.#topics = topics
  }

  /** Before the group is joined. A reset by kafkajs (-2) is a commit: only where no partition has one, the topic is new. */
  async look(): Promise<void> {
    const existing = new Set(await this.#desk.ask((admin) => admin.listTopics()))
    const topics = this.#topics.filter((topic) => existing.has(topic))
    this.#topics = topics
    const committed = await this.#offsets.allCommitted(topics)
    for (const topic of topics) {
      const own = [...committed].filter(([name]) => name.startsWith(`${topic}/`))
      if (own.some(([, offset]) => offset !== NEVER_COMMITTED)) continue
      for (const [partition, { high }] of await this.#offsets.boundsOf(topic))
        this.#ends.set(`${topic}/${partition}`, high)
    }
  }

  /** Where a partition begins, if nothing is committed there. */
  endOf({ name }: PartitionEpoch): bigint | undefined {
    return this.#ends.get(name)
  }

  /** Resolves when the group has an offset in each of the partitions, by `commit` or by another member. */
  async settle(commit: () => Promise<void>, isOver: () => boolean): Promise<void> {
    const deadline = performance.now() + SETTLE_WITHIN_MS
    while (this.#ends.size > 0 && !isOver() && performance.now() < deadline) {
      await commit()
      const committed = await this.#offsets.allCommitted(this.#topics).catch(() => NOTHING)
      for (const name of this.#ends.keys()) {
        if ((committed.get(name) ?? NEVER_COMMITTED) !== NEVER_COMMITTED) this.#ends.delete(name)
      }
      if (this.#ends.size > 0) await sleep(LOOK_AGAIN_MS)
    }
  }
}

export const NEVER_COMMITTED = -1n

const NOTHING: ReadonlyMap<string, bigint> = new Map()
