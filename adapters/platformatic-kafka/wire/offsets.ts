import { BrokerAnswer } from './answers.ts'
import type { Wire } from './wire.ts'

export interface GroupOffset {
  readonly partition: number
  /** -1: none. */
  readonly offset: bigint
  readonly metadata: string | null
}

interface OffsetFetchAnswer {
  readonly groups: readonly {
    readonly topics: readonly {
      readonly name: string
      readonly partitions: readonly {
        readonly partitionIndex: number
        readonly committedOffset: bigint
        readonly metadata: string | null
      }[]
    }[]
  }[]
}

interface ListOffsetsAnswer {
  readonly topics: readonly {
    readonly partitions: readonly { readonly partitionIndex: number; readonly offset: bigint }[]
  }[]
}

const READ_COMMITTED = 1
/** Not asked by a replica. */
const CLIENT = -1

/** Asks for offsets: of a group, and of partitions. */
export class Offsets {
  static readonly EARLIEST = -2n
  /** Behind the last message that is not part of an open transaction. */
  static readonly LATEST = -1n
  readonly #wire: Wire

  constructor(wire: Wire) {
    this.#wire = wire
  }

  /** Of all partitions of these topics. Topics that do not exist are left out. */
  async ofGroup(groupId: string, topics: readonly string[]): Promise<ReadonlyMap<string, readonly GroupOffset[]>> {
    const { topics: found } = await this.#wire.metadata(topics)
    return this.#ofGroup(
      groupId,
      [...found.values()].map(({ name, partitions }) => [name, partitions.map(({ partition }) => partition)]),
    )
  }

  /** The next offset of each partition with that timestamp or a later one. Partitions without one are left out. */
  async at(topic: string, timestamp: bigint): Promise<ReadonlyMap<number, bigint>> {
    const { brokers, topics } = await this.#wire.metadata([topic])
    const found = topics.get(topic)
    if (found === undefined) throw new BrokerAnswer('UNKNOWN_TOPIC_OR_PARTITION', true)
    const leaders = new Set(found.partitions.map(({ leader }) => leader))
    const answers = await Promise.all(
      [...leaders].map(async (node) => {
        const broker = brokers.get(node)
        const partitions = found.partitions.filter(({ leader }) => leader === node)
        if (broker === undefined) throw new BrokerAnswer('LEADER_NOT_AVAILABLE', true)
        const asked = partitions.map(({ partition, leaderEpoch }) => ({
          partitionIndex: partition,
          currentLeaderEpoch: leaderEpoch,
          timestamp,
        }))
        const fields = [CLIENT, READ_COMMITTED, [{ name: topic, partitions: asked }]]
        return this.#wire.request<ListOffsetsAnswer>('ListOffsets', broker, fields)
      }),
    )
    return new Map(
      answers
        .flatMap((answer) => answer.topics.flatMap(({ partitions }) => partitions))
        .filter(({ offset }) => offset >= 0n)
        .map(({ partitionIndex, offset }) => [partitionIndex, offset]),
    )
  }

  /** Where a group goes on in its partitions: behind its last commit, or at the first message. */
  async startsOf(
    groupId: string,
    assigned: Readonly<Record<string, readonly number[]>>,
  ): Promise<ReadonlyMap<string, { readonly topic: string; readonly partition: number; readonly position: bigint }>> {
    const wanted = Object.entries(assigned).filter(([, partitions]) => partitions.length > 0)
    const committed =
      wanted.length === 0 ? new Map<string, readonly GroupOffset[]>() : await this.#ofGroup(groupId, wanted)
    const starts = new Map<string, { topic: string; partition: number; position: bigint }>()
    for (const [topic, partitions] of wanted) {
      const offsets = new Map((committed.get(topic) ?? []).map(({ partition, offset }) => [partition, offset]))
      const isFresh = partitions.some((partition) => (offsets.get(partition) ?? -1n) < 0n)
      const lows = isFresh ? await this.at(topic, Offsets.EARLIEST) : new Map<number, bigint>()
      for (const partition of partitions) {
        const offset = offsets.get(partition) ?? -1n
        starts.set(`${topic}/${partition}`, {
          topic,
          partition,
          position: offset < 0n ? (lows.get(partition) ?? 0n) : offset,
        })
      }
    }
    return starts
  }

  async #ofGroup(
    groupId: string,
    topics: readonly (readonly [name: string, partitions: readonly number[]])[],
  ): Promise<ReadonlyMap<string, readonly GroupOffset[]>> {
    const asked = topics.map(([name, partitionIndexes]) => ({ name, partitionIndexes: [...partitionIndexes] }))
    const group = { groupId, memberId: null, memberEpoch: -1, topics: asked }
    const coordinator = await this.#wire.coordinatorOf(groupId)
    const { groups } = await this.#wire.request<OffsetFetchAnswer>('OffsetFetch', coordinator, [[group], false])
    return new Map(
      (groups[0]?.topics ?? []).map(({ name, partitions }) => [
        name,
        partitions.map(({ partitionIndex, committedOffset, metadata }) => ({
          partition: partitionIndex,
          offset: committedOffset,
          metadata,
        })),
      ]),
    )
  }
}
