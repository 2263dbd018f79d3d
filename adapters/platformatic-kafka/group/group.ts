import { setTimeout as sleep } from 'node:timers/promises'
import type { CommitRequest, Companions } from '../../kafka/client.ts'
import type { BrokerLike } from '../platformatic-like.ts'
import { errorType, isTransient, isUnanswered } from '../../kafka/protocol-error.ts'
import type { Metadata, Wire } from '../wire/wire.ts'
import type { Assigned } from './protocol.ts'
import type { TopicPartition } from '../../kafka/topic-partition.ts'

export interface GroupParts {
  readonly wire: Wire
  readonly groupId: string
  readonly topics: readonly string[]
  readonly sessionMs: number
  readonly rebalanceMs: number
  readonly heartbeatMs: number
  readonly companions: Companions | undefined
  readonly metadata: (isStale: boolean) => Promise<Metadata>
  readonly listener: GroupListener
}

/** Called synchronously. None of these may throw. */
interface GroupListener {
  /** All partitions are taken away: the member joins again. Commits of the membership so far can still be sent in this call. */
  rebalancing(): void
  /** It has joined. */
  assigned(assigned: Assigned): void
  /** Partitions go and come; the others stay (KIP-848). */
  changed(assigned: Assigned): void
  /** Resolves when the last commits of these partitions are answered, or after a while. */
  revoking(partitions: readonly TopicPartition[]): Promise<void>
  /** It will not join any more. */
  failed(error: Error): void
}

/** A member of a group, by one of the two protocols. */
export interface Group {
  /** Resolves when it has joined for the first time. */
  join(): Promise<void>
  /** Sends the offsets as the member that it is at the time of the call. */
  commit(request: CommitRequest): Promise<void>
  /** Idempotent, never rejects. */
  leave(): Promise<void>
}

/** Between two tries to join, and how many in turn may fail before the membership has. */
export const AGAIN_MS = 200
export const MOST_AGAIN_MS = 2_000
export const MOST_TRIES = 12
/** A broker that does not answer holds up no stop. */
export const LEAVE_WITHIN_MS = 2_000

/** Errors after which the group has another coordinator, or none yet. */
const OF_COORDINATOR: ReadonlySet<string> = new Set([
  'NOT_COORDINATOR_FOR_GROUP',
  'GROUP_COORDINATOR_NOT_AVAILABLE',
  'GROUP_LOAD_IN_PROGRESS',
])

/** Finds the coordinator of the group anew when it has moved. */
export class Coordinator {
  readonly #wire: Wire
  readonly #groupId: string
  #found: Promise<BrokerLike> | undefined

  constructor(wire: Wire, groupId: string) {
    this.#wire = wire
    this.#groupId = groupId
  }

  async request<T>(name: string, fields: readonly unknown[], limitMs?: number): Promise<T> {
    const found = (this.#found ??= this.#wire.coordinatorOf(this.#groupId))
    try {
      return await this.#wire.request<T>(name, await found, fields, limitMs)
    } catch (error) {
      const isLost = isUnanswered(error) || OF_COORDINATOR.has(errorType(error))
      if (isLost && this.#found === found) this.#found = undefined
      throw error
    }
  }
}

/** Nobody answered, or the broker asks to wait. */
export function isWorthAnotherTry(error: unknown): boolean {
  return isTransient(error) || isUnanswered(error)
}

/** The fields of OffsetCommit behind the member. */
export function committedTopics({ topics }: CommitRequest): unknown[] {
  return topics.map(({ topic, partitions }) => ({
    name: topic,
    partitions: partitions.map(({ partition, offset, metadata }) => ({
      partitionIndex: partition,
      committedOffset: BigInt(offset),
      committedLeaderEpoch: -1,
      committedMetadata: metadata,
    })),
  }))
}

/** A pause that ends at once when the signal aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {})
}
