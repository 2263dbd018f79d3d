import { describeError, StoppedError } from '../../src/internal.ts'
import type {
  CommitRequest,
  GroupMember,
  MemberControl,
  MemberListener,
  MemberOptions,
  TopicPartitions,
} from '../kafka/client.ts'
import { fetchApi } from './fetch/fetch-answer.ts'
import { Fetcher } from './fetch/fetcher.ts'
import { ClassicGroup } from './group/classic.ts'
import type { Group, GroupParts } from './group/group.ts'
import { IncrementalGroup } from './group/incremental.ts'
import type { Assigned } from './group/protocol.ts'
import type { BaseOptionsLike, PlatformaticLike } from './platformatic-like.ts'
import { Offsets } from './wire/offsets.ts'
import { Wire, type Metadata } from './wire/wire.ts'

const METADATA_MAX_AGE_MS = 30_000
const REBALANCE_MS = 60_000

/**
 * One membership: the group's protocol, which timers keep alive, and fetches beside it. What the client has for that is
 * not used: it commits old offsets in a new generation (C3), and keeps records over a rejoin (C4).
 */
export class PlatformaticMember implements GroupMember {
  readonly consumer: MemberControl
  readonly #options: MemberOptions
  readonly #listener: MemberListener
  readonly #lib: PlatformaticLike
  /** One for each kind of request: a join and a fetch wait at the broker, and what is asked after them on the same wire waits too. */
  readonly #joining: Wire
  readonly #asking: Wire
  readonly #fetching: Wire
  readonly #offsets: Offsets
  readonly #group: Group
  #fetcher: Fetcher | undefined
  #metadata: { readonly at: number; readonly told: Promise<Metadata> } | undefined
  #is: 'new' | 'joined' | 'over' = 'new'
  #stopped: Promise<void> | undefined
  /** Counts what the group has assigned: what was asked for an earlier one means nothing. */
  #assignment = 0

  constructor(lib: PlatformaticLike, base: BaseOptionsLike, options: MemberOptions, listener: MemberListener) {
    this.#lib = lib
    this.#options = options
    this.#listener = listener
    this.#joining = new Wire(lib, base)
    this.#asking = new Wire(lib, base)
    this.#fetching = new Wire(lib, base)
    this.#offsets = new Offsets(this.#asking)
    this.#group = this.#groupOf(options)
    this.consumer = {
      commitOffsets: (offsets) => this.#commit(byTopic(offsets)),
      seek: ({ topic, partition, offset }) => this.#fetcher?.seek(topic, partition, BigInt(offset)),
      pause: (topics) => this.#pause(topics, true),
      resume: (topics) => this.#pause(topics, false),
      paused: () => (this.#fetcher?.paused() ?? []).map(({ topic, partition }) => ({ topic, partitions: [partition] })),
    }
  }

  get #isOver(): boolean {
    return this.#is === 'over'
  }

  get hasJoined(): boolean {
    return this.#is !== 'new'
  }

  async start(): Promise<void> {
    const api = await this.#fetching.api('Fetch')
    const { consumerConfig, report } = this.#options
    this.#fetcher = new Fetcher({
      wire: this.#fetching,
      api: fetchApi(this.#lib, api.version),
      answerOf: this.#asking.answerOf,
      config: consumerConfig,
      decompressionOf: (codec) => {
        const known = this.#lib.compressionsAlgorithmsByBitmask[codec]
        return known === undefined || known.available === false
          ? undefined
          : (bytes) => known.decompressSync(bytes as never)
      },
      report,
      metadata: (isStale) => this.#cluster(isStale),
      lowOf: async (topic, partition) => {
        const low = (await this.#offsets.at(topic, Offsets.EARLIEST)).get(partition)
        if (low === undefined) throw new Error('not told')
        return low
      },
      commit: (request) => this.#commit(request),
      listener: {
        batch: (payload) => this.#batch(payload),
        controlBatch: (batch) => this.#tell(() => this.#listener.controlBatch(batch)),
        fetchFailed: () => this.#tell(() => this.#listener.fetchFailed()),
        turned: () => this.#tell(() => this.#listener.turned()),
      },
      topicReplaced: (topic) => this.#end(new Error(`topic ${topic} was created anew`)),
    })
    await this.#group.join()
    if (this.#isOver) throw new StoppedError('stopped while it started')
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async #stop(): Promise<void> {
    this.#is = 'over'
    this.#fetcher?.stop()
    await this.#group.leave()
    await Promise.all([this.#joining, this.#asking, this.#fetching].map((wire) => wire.close()))
  }

  #groupOf({ topics, consumerConfig, companions }: MemberOptions): Group {
    const {
      groupId,
      sessionTimeout = 30_000,
      rebalanceTimeout = REBALANCE_MS,
      heartbeatInterval = 3_000,
    } = consumerConfig
    const parts: GroupParts = {
      wire: this.#joining,
      groupId,
      topics,
      sessionMs: sessionTimeout,
      rebalanceMs: Math.max(rebalanceTimeout, sessionTimeout),
      heartbeatMs: heartbeatInterval,
      companions,
      metadata: (isStale) => this.#cluster(isStale),
      listener: {
        rebalancing: () => {
          if (this.#isOver) return
          this.#assignment++
          // In this call the last commits are sent, as the member that it still is.
          this.#tell(() => this.#listener.rebalancing())
          this.#fetcher?.assign(new Map())
        },
        assigned: (assigned) => {
          if (this.#isOver) return // It has ended, and leaves as soon as this is through.
          this.#is = 'joined'
          void this.#fetch(assigned, false)
          this.#tell(() => this.#listener.joined({ memberAssignment: assigned }))
        },
        changed: (assigned) => {
          if (this.#isOver) return
          void this.#fetch(assigned, true)
          this.#tell(() => this.#listener.changed({ memberAssignment: assigned }))
        },
        revoking: async (partitions) => {
          if (this.#isOver) return
          this.#fetcher?.leave(partitions)
          await this.#listener.revoking(partitions)
        },
        failed: (error) => this.#end(error),
      },
    }
    return consumerConfig.groupProtocol === 'consumer' ? new IncrementalGroup(parts) : new ClassicGroup(parts)
  }

  /** Begins where the group is. Who takes the batches sends it elsewhere if that is wrong. */
  async #fetch(assigned: Assigned, isKept: boolean): Promise<void> {
    const of = ++this.#assignment
    for (let tries = 0; of === this.#assignment && !this.#isOver; tries++) {
      try {
        const positions = await this.#offsets.startsOf(this.#options.consumerConfig.groupId, assigned)
        if (of === this.#assignment && !this.#isOver) this.#fetcher?.assign(positions, isKept)
        return
      } catch {
        this.#tell(() => this.#listener.fetchFailed())
        await new Promise((resolve) => setTimeout(resolve, Math.min(2_000, 100 * 2 ** tries)))
      }
    }
  }

  #commit(request: CommitRequest): Promise<void> {
    if (this.#is !== 'joined') return Promise.reject(new StoppedError('the member has ended'))
    return this.#group.commit(request)
  }

  #pause(topics: readonly TopicPartitions[], isPaused: boolean): void {
    for (const { topic, partitions } of topics) {
      for (const partition of partitions) this.#fetcher?.pause(topic, partition, isPaused)
    }
  }

  async #batch(payload: Parameters<MemberListener['batch']>[0]): Promise<void> {
    try {
      await this.#listener.batch(payload)
    } catch (error) {
      this.#options.report('adapter-error', describeError(error))
    }
  }

  /** One question at a time; an answer is used again until it is stale or too old. */
  #cluster(isStale: boolean): Promise<Metadata> {
    const now = performance.now()
    const maxAge = this.#options.consumerConfig.metadataMaxAge ?? METADATA_MAX_AGE_MS
    if (this.#metadata !== undefined && now - this.#metadata.at < (isStale ? 100 : maxAge)) return this.#metadata.told
    const told = this.#asking.metadata(this.#options.topics)
    const metadata = { at: now, told }
    this.#metadata = metadata
    told.catch(() => {
      if (this.#metadata === metadata) this.#metadata = undefined
    })
    return told
  }

  #end(error: Error): void {
    if (this.#is !== 'joined') return
    this.#tell(() => this.#listener.ended(error))
    void this.stop() // At once: nobody else may have its partitions while it is a member.
  }

  #tell(listener: () => void): void {
    if (this.#is === 'over') return
    try {
      listener()
    } catch (error) {
      this.#options.report('adapter-error', describeError(error))
    }
  }
}

function byTopic(offsets: Parameters<MemberControl['commitOffsets']>[0]): CommitRequest {
  const topics = new Map<string, CommitRequest['topics'][number]['partitions']>()
  for (const { topic, ...offset } of offsets) topics.set(topic, [...(topics.get(topic) ?? []), offset])
  return { topics: [...topics].map(([topic, partitions]) => ({ topic, partitions })) }
}
