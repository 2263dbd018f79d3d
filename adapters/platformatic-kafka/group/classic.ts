import { describeError, StoppedError } from '../../../src/internal.ts'
import type { CommitRequest } from '../../kafka/client.ts'
import { errorType } from '../../kafka/protocol-error.ts'
import { BrokerAnswer } from '../wire/answers.ts'
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
import {
  ASSIGNOR,
  assignmentBytes,
  assignmentIn,
  roundRobin,
  subscriptionBytes,
  subscriptionIn,
  type Assigned,
} from './protocol.ts'

interface JoinAnswer {
  readonly generationId: number
  readonly leader: string
  readonly memberId: string
  readonly protocolName: string | null
  readonly members: readonly { readonly memberId: string; readonly metadata: Buffer | null }[]
}

/** After these the broker no longer has the member in the generation that it believes in. */
const JOIN_AGAIN: ReadonlySet<string> = new Set([
  'REBALANCE_IN_PROGRESS',
  'ILLEGAL_GENERATION',
  'UNKNOWN_MEMBER_ID',
  'MEMBER_ID_REQUIRED',
])

/** A member by the protocol of JoinGroup, SyncGroup and Heartbeat. */
export class ClassicGroup implements Group {
  readonly #parts: GroupParts
  readonly #coordinator: Coordinator
  readonly #leaving = new AbortController()
  #memberId = ''
  #generation = -1
  #joining: Promise<void> | undefined
  /** When the broker last knew it as a member. */
  #seenAt = 0
  /** Partitions of each topic, at the assignment that it made as the leader. */
  #counts: ReadonlyMap<string, number> | undefined

  constructor(parts: GroupParts) {
    this.#parts = parts
    this.#coordinator = new Coordinator(parts.wire, parts.groupId)
  }

  async join(): Promise<void> {
    await this.#joinOn()
    void this.#stay()
  }

  async commit(request: CommitRequest): Promise<void> {
    const member = [this.#parts.groupId, this.#generation, this.#memberId, null] as const
    await this.#coordinator.request('OffsetCommit', [...member, committedTopics(request)])
  }

  async leave(): Promise<void> {
    this.#leaving.abort()
    // Until it is answered, the broker counts on a member that is never heard of again.
    await this.#joining?.catch(() => {})
    const memberId = this.#memberId
    if (memberId === '') return
    this.#memberId = ''
    const members = [{ memberId, groupInstanceId: null, reason: 'the consumer stops' }]
    await this.#coordinator.request('LeaveGroup', [this.#parts.groupId, members], LEAVE_WITHIN_MS).catch(() => {})
  }

  #joinOn(): Promise<void> {
    this.#joining = this.#join()
    return this.#joining
  }

  async #join(): Promise<void> {
    for (let tries = 1; ; tries++) {
      if (this.#isLeaving) throw new StoppedError('stopped while it joined')
      try {
        const assigned = await this.#joinOnce()
        if (this.#isLeaving) throw new StoppedError('stopped while it joined')
        this.#seenAt = performance.now()
        return this.#parts.listener.assigned(assigned)
      } catch (error) {
        const type = errorType(error)
        if (type === 'UNKNOWN_MEMBER_ID') this.#memberId = ''
        if (type === 'MEMBER_ID_REQUIRED') this.#memberId = memberIdIn(error) ?? ''
        else if (!JOIN_AGAIN.has(type) && (!isWorthAnotherTry(error) || tries >= MOST_TRIES)) throw error
        if (type !== 'MEMBER_ID_REQUIRED') await pause(Math.min(MOST_AGAIN_MS, AGAIN_MS * tries), this.#leaving.signal)
      }
    }
  }

  async #joinOnce(): Promise<Assigned> {
    const { groupId, topics, sessionMs, rebalanceMs, companions } = this.#parts
    const metadata = subscriptionBytes({ topics, userData: companions?.userData ?? Buffer.alloc(0) })
    const joined = await this.#coordinator.request<JoinAnswer>(
      'JoinGroup',
      [groupId, sessionMs, rebalanceMs, this.#memberId, null, 'consumer', [{ name: ASSIGNOR, metadata }], 'joins'],
      rebalanceMs + sessionMs,
    )
    this.#memberId = joined.memberId
    if (this.#isLeaving) throw new StoppedError('stopped while it joined')
    const { generationId } = joined
    this.#counts = undefined
    const assignments = joined.leader === joined.memberId ? await this.#assign(joined) : []
    const { assignment } = await this.#coordinator.request<{ readonly assignment: Buffer }>(
      'SyncGroup',
      [groupId, generationId, joined.memberId, null, 'consumer', joined.protocolName ?? ASSIGNOR, assignments],
      rebalanceMs + sessionMs,
    )
    this.#generation = generationId
    return assignmentIn(assignment)
  }

  async #assign({
    members,
  }: JoinAnswer): Promise<readonly { readonly memberId: string; readonly assignment: Buffer }[]> {
    const known = members.flatMap(({ memberId, metadata }) => {
      const subscription = subscriptionIn(metadata)
      return subscription === undefined ? [] : [{ memberId, ...subscription }]
    })
    this.#parts.companions?.compare(known)
    const counts = await this.#countsOf([...new Set(known.flatMap(({ topics }) => topics))])
    this.#counts = counts
    return [...roundRobin(known, counts)].map(([memberId, assigned]) => ({
      memberId,
      assignment: assignmentBytes(assigned),
    }))
  }

  async #countsOf(topics: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const { topics: found } = await this.#parts.wire.metadata(topics)
    return new Map([...found].map(([name, { partitions }]) => [name, partitions.length]))
  }

  /** Until it leaves, or cannot join any more. */
  async #stay(): Promise<void> {
    const { heartbeatMs, listener } = this.#parts
    while (!this.#isLeaving) {
      await pause(heartbeatMs, this.#leaving.signal)
      if (this.#isLeaving) return
      const why = await this.#beat()
      if (this.#isLeaving) return
      if (why === undefined) continue
      listener.rebalancing()
      if (why === 'UNKNOWN_MEMBER_ID') this.#memberId = ''
      try {
        await this.#joinOn()
      } catch (error) {
        if (!this.#isLeaving) listener.failed(error instanceof Error ? error : new Error(describeError(error)))
        return
      }
    }
  }

  /** Why it has to join again. */
  async #beat(): Promise<string | undefined> {
    const { groupId, sessionMs } = this.#parts
    try {
      await this.#coordinator.request('Heartbeat', [groupId, this.#generation, this.#memberId, null], sessionMs)
      this.#seenAt = performance.now()
      return (await this.#hasGrown()) ? 'the topics have other partitions' : undefined
    } catch (error) {
      const type = errorType(error)
      if (JOIN_AGAIN.has(type) || type === 'FENCED_INSTANCE_ID') return type
      if (!isWorthAnotherTry(error)) return type
      // The group has removed a member that was silent for so long, and others have its partitions.
      return performance.now() - this.#seenAt > sessionMs ? 'no heartbeat was answered within the session' : undefined
    }
  }

  /** Only the leader knows by which counts it has assigned, and only its join makes the others join. */
  async #hasGrown(): Promise<boolean> {
    const counts = this.#counts
    if (counts === undefined) return false
    const { topics } = await this.#parts.metadata(false)
    return this.#parts.topics.some((topic) => (topics.get(topic)?.partitions.length ?? 0) > (counts.get(topic) ?? 0))
  }

  get #isLeaving(): boolean {
    return this.#leaving.signal.aborted
  }
}

/** The broker gives a new member its ID with a refusal (KIP-394). */
function memberIdIn(error: unknown): string | undefined {
  if (!(error instanceof BrokerAnswer)) return undefined
  const { response } = (error.cause ?? {}) as { readonly response?: { readonly memberId?: string } }
  return response?.memberId
}
