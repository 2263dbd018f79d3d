import { randomUUID } from 'node:crypto'
import { ConfigError, describeError, StoppedError } from '../../../src/internal.ts'
import type { CommitRequest } from '../../kafka/client.ts'
import { errorType } from '../../kafka/protocol-error.ts'
import { Unanswered } from '../wire/answers.ts'
import {
  AGAIN_MS,
  committedTopics,
  Coordinator,
  LEAVE_WITHIN_MS,
  MOST_AGAIN_MS,
  MOST_TRIES,
  isWorthAnotherTry,
  pause,
  type Group,
  type GroupParts,
} from './group.ts'
import type { Assigned } from './protocol.ts'

interface TopicPartitionIds {
  readonly topicId: string
  readonly partitions: readonly number[]
}

interface BeatAnswer {
  readonly memberId: string | null
  readonly memberEpoch: number
  readonly heartbeatIntervalMs: number
  /** Absent if it has not changed. */
  readonly assignment: { readonly topicPartitions: readonly TopicPartitionIds[] } | null
}

/** After these the group has removed the member: it owns nothing. */
const REMOVED: ReadonlySet<string> = new Set(['UNKNOWN_MEMBER_ID', 'FENCED_MEMBER_EPOCH', 'UNRELEASED_INSTANCE_ID'])
const NOT_SUPPORTED =
  "consumerConfig.groupProtocol: expected 'classic', got 'consumer': these brokers do not have the protocol of KIP-848. It is part of Kafka 4.0 and later"
/** The epochs of a member that joins, and that leaves. */
const JOINS = 0
const LEAVES = -1
/** A field that has not changed. */
const UNCHANGED = { timeoutMs: -1, topics: null, owned: null }

/**
 * A member by the protocol of KIP-848: the broker assigns, and tells each member by its heartbeats what goes and what comes.
 * What stays is not interrupted. A partition that goes is given up after its last commit, and only then another member
 * gets it.
 */
export class IncrementalGroup implements Group {
  readonly #parts: GroupParts
  readonly #coordinator: Coordinator
  readonly #leaving = new AbortController()
  #memberId = randomUUID() as string
  #epoch = JOINS
  /** By ID of the topic. */
  #owned: readonly TopicPartitionIds[] = []
  #names = new Map<string, string>()
  #everyMs: number
  #seenAt = 0
  /** What the broker has not been told yet. */
  #isTold = false
  #hasAssignment = false
  /** One at a time: an answer tells what follows for the next. */
  #beating: Promise<void> | undefined

  constructor(parts: GroupParts) {
    this.#parts = parts
    this.#everyMs = parts.heartbeatMs
    this.#coordinator = new Coordinator(parts.wire, parts.groupId)
  }

  async join(): Promise<void> {
    await this.#join()
    if (this.#isLeaving) throw new StoppedError('stopped while it joined')
    void this.#stay()
  }

  /** Refused with STALE_MEMBER_EPOCH while a new epoch is under way. To send it again in the new one could take an offset back. */
  async commit(request: CommitRequest): Promise<void> {
    const fields = [this.#parts.groupId, this.#epoch, this.#memberId, null, committedTopics(request)]
    await this.#coordinator.request('OffsetCommit', fields)
  }

  async leave(): Promise<void> {
    if (this.#isLeaving) return
    this.#leaving.abort()
    // It may be the one by which it joins.
    await this.#beating?.catch(() => {})
    if (this.#epoch === JOINS) return
    const { groupId } = this.#parts
    const fields = [groupId, this.#memberId, LEAVES, null, null, -1, null, null, null, null]
    await this.#coordinator.request('ConsumerGroupHeartbeat', fields, LEAVE_WITHIN_MS).catch(() => {})
  }

  async #stay(): Promise<void> {
    const { listener, sessionMs } = this.#parts
    while (!this.#isLeaving) {
      await pause(this.#everyMs, this.#leaving.signal)
      if (this.#isLeaving) return
      try {
        await this.#beat()
      } catch (error) {
        if (this.#isLeaving) return
        const isRemoved = REMOVED.has(errorType(error))
        if (!isRemoved && !isWorthAnotherTry(error)) return listener.failed(errorOf(error))
        if (!isRemoved && performance.now() - this.#seenAt <= sessionMs) continue
        listener.rebalancing()
        this.#begin()
        try {
          await this.#join()
        } catch (failure) {
          if (!this.#isLeaving) listener.failed(errorOf(failure))
          return
        }
      }
    }
  }

  /** Until the broker has assigned something, which may be nothing. */
  async #join(): Promise<void> {
    for (let failures = 0; !this.#hasAssignment && !this.#isLeaving;) {
      try {
        await this.#beat()
        failures = 0
      } catch (error) {
        failures++
        if (errorType(error) === 'UNSUPPORTED_VERSION') throw new ConfigError([NOT_SUPPORTED])
        if (REMOVED.has(errorType(error))) this.#begin()
        else if (!isWorthAnotherTry(error) || failures >= MOST_TRIES) throw error
      }
      if (!this.#hasAssignment) await pause(Math.min(MOST_AGAIN_MS, AGAIN_MS * 2 ** failures), this.#leaving.signal)
    }
  }

  /** As a new member, which owns nothing. */
  #begin(): void {
    this.#epoch = JOINS
    this.#owned = []
    this.#isTold = false
    this.#hasAssignment = false
  }

  #beat(): Promise<void> {
    this.#beating ??= this.#beatOnce().finally(() => (this.#beating = undefined))
    return this.#beating
  }

  async #beatOnce(): Promise<void> {
    for (;;) {
      const { groupId, topics, rebalanceMs, sessionMs } = this.#parts
      const isJoining = this.#epoch === JOINS
      const owned = isJoining ? [] : this.#owned
      const told = isJoining || !this.#isTold ? { timeoutMs: rebalanceMs, topics, owned } : UNCHANGED
      const fields = [
        groupId,
        this.#memberId,
        this.#epoch,
        null,
        null,
        told.timeoutMs,
        told.topics,
        null,
        null,
        told.owned,
      ]
      this.#isTold = true
      let answer: BeatAnswer
      try {
        answer = await this.#coordinator.request<BeatAnswer>('ConsumerGroupHeartbeat', fields, sessionMs)
      } catch (error) {
        this.#isTold = false
        throw error
      }
      this.#epoch = answer.memberEpoch
      if (this.#isLeaving) return
      this.#seenAt = performance.now()
      if (answer.memberId !== null && answer.memberId !== '') this.#memberId = answer.memberId
      if (answer.heartbeatIntervalMs > 0) this.#everyMs = Math.min(answer.heartbeatIntervalMs, this.#parts.heartbeatMs)
      if (answer.assignment === null) return
      try {
        if (!(await this.#follow(answer.assignment.topicPartitions))) return
      } catch (error) {
        this.#isTold = false // Then the broker tells the assignment once more.
        throw error
      }
    }
  }

  /** True if the broker is to be told at once what it owns now. */
  async #follow(target: readonly TopicPartitionIds[]): Promise<boolean> {
    const { listener } = this.#parts
    await this.#learnNames(target)
    if (this.#isLeaving) return false
    const [now, next] = [flat(this.#owned), flat(target)]
    const gone = [...now].filter((name) => !next.has(name))
    if (gone.length > 0) {
      await listener.revoking(gone.flatMap((name) => this.#partitionOf(name) ?? []))
      if (this.#isLeaving) return false
    }
    const isNew = !this.#hasAssignment
    this.#owned = target.map(({ topicId, partitions }) => ({ topicId, partitions: [...partitions] }))
    this.#hasAssignment = true
    if (isNew) listener.assigned(this.#assigned())
    else if (gone.length > 0 || next.size !== now.size || [...next].some((name) => !now.has(name)))
      listener.changed(this.#assigned())
    else return false
    this.#isTold = false
    return true
  }

  async #learnNames(target: readonly TopicPartitionIds[]): Promise<void> {
    if (target.every(({ topicId }) => this.#names.has(topicId))) return
    const { topics } = await this.#parts.wire.metadata(this.#parts.topics)
    for (const { id, name } of topics.values()) this.#names.set(id, name)
    const unknown = target.find(({ topicId }) => !this.#names.has(topicId))
    // What it could not consume it must not own.
    if (unknown !== undefined) {
      throw new Unanswered(new Error(`the broker has not told the name of topic ${unknown.topicId}`))
    }
  }

  #assigned(): Assigned {
    const assigned: Record<string, readonly number[]> = {}
    for (const { topicId, partitions } of this.#owned) {
      const name = this.#names.get(topicId)
      if (name !== undefined) assigned[name] = partitions
    }
    return assigned
  }

  #partitionOf(name: string): { topic: string; partition: number } | undefined {
    const at = name.lastIndexOf('/')
    const topic = this.#names.get(name.slice(0, at))
    return topic === undefined ? undefined : { topic, partition: Number(name.slice(at + 1)) }
  }

  get #isLeaving(): boolean {
    return this.#leaving.signal.aborted
  }
}

function flat(owned: readonly TopicPartitionIds[]): ReadonlySet<string> {
  return new Set(owned.flatMap(({ topicId, partitions }) => partitions.map((partition) => `${topicId}/${partition}`)))
}

function errorOf(error: unknown): Error {
  return error instanceof Error ? error : new Error(describeError(error))
}
