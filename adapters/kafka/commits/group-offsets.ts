import { setTimeout as sleep } from 'node:timers/promises'
import { landmarkIn, type Backlog, type Landmark, type LogBounds } from '../../../src/internal.ts'
import type { AdminClient } from '../admin-client.ts'
import { errorType } from '../protocol-error.ts'

/** A broker makes some hundred partitions a second. Later, or without a leader, the group is joined all the same. */
const MADE_WITHIN_MS = 20_000
const LOOK_AGAIN_MS = 200

/** The committed offset of a partition without one. */
export const NEVER_COMMITTED = -1n

/** An offset of the group; negative for none (-1) or after a reset by kafkajs (-2). */
export interface Committed {
  readonly offset: bigint
  /** The last message below it, as the member that committed it knew it. */
  readonly landmark: Landmark | undefined
}

/** Reads the group's offsets and the bounds of its partitions from the broker. */
export class GroupOffsets {
  readonly #adminClient: AdminClient
  readonly #groupId: string
  /** kafkajs cannot ask for the offsets of a topic that does not exist. */
  readonly #topics: () => readonly string[]
  #read: { readonly join: number; readonly offsets: Promise<ReadonlyMap<string, Committed>> } | undefined
  readonly #asking = new Map<string, Promise<ReadonlyMap<number, LogBounds>>>()

  constructor(adminClient: AdminClient, groupId: string, topics: () => readonly string[]) {
    this.#adminClient = adminClient
    this.#groupId = groupId
    this.#topics = topics
  }

  /** Keys are `topic/partition`. */
  async allCommitted(of: readonly string[] = this.#topics()): Promise<ReadonlyMap<string, Committed>> {
    const request = { groupId: this.#groupId, topics: [...of] }
    const topics = await this.#adminClient.ask(async (admin) => {
      // A client of kafkajs that knows no broker yet pauses for 300 ms before a question about a group, and fails if
      // the user's client may not retry. The answer to this one names them.
      await admin.fetchTopicMetadata({ topics: [...of] })
      return admin.fetchOffsets(request)
    })
    const entries = topics.flatMap(({ topic, partitions }) =>
      partitions.map(({ partition, offset, metadata }) => {
        const next = BigInt(offset)
        return [`${topic}/${partition}`, { offset: next, landmark: landmarkIn(metadata, next) }] as const
      }),
    )
    return new Map(entries)
  }

  /** The committed offset at a join. */
  async committed(join: number, topic: string, partition: number): Promise<Committed | undefined> {
    return (await this.read(join)).get(`${topic}/${partition}`)
  }

  /**
   * The committed offsets at a join. Read once for all partitions of it, and in a row of joins only when a batch asks or
   * no further join has followed for a moment: a move of partitions can cause a hundred joins in a second.
   */
  read(join: number): Promise<ReadonlyMap<string, Committed>> {
    if (this.#read?.join !== join) {
      const read = { join, offsets: this.allCommitted() }
      this.#read = read
      read.offsets.catch(() => {
        if (this.#read === read) this.#read = undefined
      })
    }
    return this.#read.offsets
  }

  /** Partitions have come without a join: others may have committed in them since. */
  forget(): void {
    this.#read = undefined
  }

  /**
   * Waits for partitions that were just created. kafkajs joins its group again at each fetch that meets one which its
   * broker has not made yet: dozens of joins in a start with a thousand partitions. A topic may be new if the group has
   * never committed in some of its partitions. Never rejects.
   */
  async untilMade(committed: ReadonlyMap<string, Committed>, isOver: () => boolean): Promise<void> {
    const deadline = performance.now() + MADE_WITHIN_MS
    const fresh = [...committed].filter(([, { offset }]) => offset === NEVER_COMMITTED)
    for (const topic of new Set(fresh.map(([name]) => name.slice(0, name.lastIndexOf('/'))))) {
      while (performance.now() < deadline && !isOver()) {
        const why = await this.boundsOf(topic).then(() => undefined, errorType)
        if (why !== 'NOT_LEADER_FOR_PARTITION') break
        await sleep(LOOK_AGAIN_MS)
      }
    }
  }

  async bounds(topic: string, partition: number): Promise<LogBounds> {
    const bounds = (await this.boundsOf(topic)).get(partition)
    if (bounds === undefined) throw new Error(`the broker told no offsets of ${topic}/${partition}`)
    return bounds
  }

  /** Messages of these topics that the group has not committed. Markers of transactions count. */
  backlog(topics: readonly string[]): Promise<readonly Backlog[]> {
    // Over one connection.
    return this.#adminClient.ask(async () => {
      const committed = await this.allCommitted(topics)
      return Promise.all(
        topics.map(async (destination) => {
          let messages = 0n
          for (const [partition, { low, high }] of await this.boundsOf(destination)) {
            const next = committed.get(`${destination}/${partition}`)?.offset ?? NEVER_COMMITTED
            const from = next > low ? next : low
            if (high > from) messages += high - from
          }
          return { destination, messages: Number(messages) }
        }),
      )
    })
  }

  /** Keys are partitions. */
  boundsOf(topic: string): Promise<ReadonlyMap<number, LogBounds>> {
    let asking = this.#asking.get(topic)
    if (asking === undefined) {
      asking = this.#fetchBounds(topic).finally(() => this.#asking.delete(topic))
      this.#asking.set(topic, asking)
    }
    return asking
  }

  async #fetchBounds(topic: string): Promise<ReadonlyMap<number, LogBounds>> {
    const partitions = await this.#adminClient.ask((admin) => admin.fetchTopicOffsets(topic))
    return new Map(partitions.map(({ partition, low, high }) => [partition, { low: BigInt(low), high: BigInt(high) }]))
  }
}
