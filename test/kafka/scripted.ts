import { setImmediate as turn } from 'node:timers/promises'
import type { BatchPayload, CommitRequest, MemberConfig, RawMessage } from '../../adapters/kafka/client.ts'
import type { AdminLike, ConsumerLike, KafkaLike, ProducerLike } from '../../adapters/kafkajs/kafkajs-like.ts'

type EachBatch = (payload: BatchPayload) => Promise<void>

/** A client of kafkajs played by the test: for what a real broker does once in a thousand runs. */
export class ScriptedKafka implements KafkaLike {
  readonly consumers: ScriptedConsumer[] = []
  /** The group's offsets, as the broker tells them; by `topic/partition`. */
  readonly committed: Map<string, bigint> = new Map()
  /** What was committed with them. */
  readonly metadata: Map<string, string> = new Map()
  readonly bounds: Map<string, { low: bigint; high: bigint }> = new Map()
  readonly topics: string[] = []
  /** How often the broker was asked: fetchOffsets, fetchTopicOffsets. */
  readonly asked = { committed: 0, bounds: 0 }
  /** Answers to `producer.send`, in turn; the last one stays. */
  readonly sendAnswers: (() => Promise<{ topicName: string; partition: number; errorCode: number }[]>)[] = []
  producers = 0
  /** What `send` was asked for, with whether its producer is idempotent. */
  readonly sent: { readonly acks: number; readonly messages: number; readonly idempotent: boolean }[] = []
  adminFails = false
  /** A partition of each topic has no leader, so the ends of none are told. */
  boundsFail = false
  /** Plays what happens when a consumer runs: by default it joins with partition 0 of the first topic. */
  onRun: (consumer: ScriptedConsumer) => void | Promise<void> = (consumer) =>
    consumer.join({ [this.topics[0] ?? '']: [0] })

  consumer(config: MemberConfig): ScriptedConsumer {
    const consumer = new ScriptedConsumer(config, (one) => this.onRun(one))
    this.consumers.push(consumer)
    return consumer
  }

  get newest(): ScriptedConsumer {
    const consumer = this.consumers.at(-1)
    if (consumer === undefined) throw new Error('no consumer yet')
    return consumer
  }

  producer({ idempotent }: { readonly idempotent: boolean }): ProducerLike {
    this.producers++
    return {
      connect: async () => {},
      disconnect: async () => {},
      send: ({ acks, messages }) => {
        this.sent.push({ acks, messages: messages.length, idempotent })
        const answer = this.sendAnswers.length > 1 ? this.sendAnswers.shift() : this.sendAnswers[0]
        if (answer === undefined) throw new Error('no answer scripted')
        return answer()
      },
    }
  }

  admin(): AdminLike {
    const orFail = async (): Promise<void> => {
      await turn()
      if (this.adminFails) throw new Error('the admin client fails')
    }
    return {
      connect: orFail,
      disconnect: async () => {},
      listTopics: async () => [...this.topics],
      createTopics: async ({ topics }) => {
        this.topics.push(...topics.map(({ topic }) => topic))
        return true
      },
      describeConfigs: async () => ({ resources: [] }),
      describeCluster: notPlayed,
      describeGroups: notPlayed,
      deleteGroups: notPlayed,
      fetchTopicOffsetsByTimestamp: notPlayed,
      fetchTopicMetadata: async ({ topics }) => ({ topics: topics.map(() => ({ partitions: [{ replicas: [1] }] })) }),
      fetchOffsets: async ({ topics }) => {
        this.asked.committed++
        await orFail()
        return topics.map((topic) => ({ topic, partitions: this.#of(this.committed, topic) }))
      },
      fetchTopicOffsets: async (topic) => {
        this.asked.bounds++
        await orFail()
        if (this.boundsFail) throw new Error('there is no leader')
        return [...this.bounds].flatMap(([name, { low, high }]) =>
          name.startsWith(`${topic}/`) ? [{ partition: partitionOf(name), low: `${low}`, high: `${high}` }] : [],
        )
      },
    }
  }

  #of(
    offsets: ReadonlyMap<string, bigint>,
    topic: string,
  ): { partition: number; offset: string; metadata: string | null }[] {
    return [...offsets].flatMap(([name, offset]) => {
      const metadata = this.metadata.get(name) ?? null
      return name.startsWith(`${topic}/`) ? [{ partition: partitionOf(name), offset: `${offset}`, metadata }] : []
    })
  }
}

export class ScriptedConsumer implements ConsumerLike {
  readonly config: MemberConfig
  readonly seeks: string[] = []
  subscribed: readonly string[] = []
  readonly resolved: string[] = []
  /** Commits sent through a payload, as `topic/partition@offset`. */
  readonly commits: string[] = []
  /** The metadata of the newest commit of each partition. */
  readonly metadata: Map<string, string | null> = new Map()
  readonly commitsWithoutPayload: string[] = []
  readonly pausedNow: Set<string> = new Set()
  assignment: Readonly<Record<string, readonly number[]>> = {}
  /** For each stop, whether it came right after a fetch had started: no other moment is safe. */
  readonly stopsAtFetch: boolean[] = []
  /** Throws or rejects, to play a broker that refuses. */
  onCommit: () => Promise<void> = async () => {}
  onResolve: () => void = () => {}
  heartbeats = 0
  /** Its fetches end in errors, which kafkajs keeps to itself. */
  fetchFails = false
  readonly #listeners = new Map<string, ((event: never) => void)[]>()
  #eachBatch: EachBatch = async () => {}
  #loop: NodeJS.Timeout | undefined
  #isStartingFetch = false

  readonly #onRun: (consumer: ScriptedConsumer) => void | Promise<void>

  constructor(config: MemberConfig, onRun: (consumer: ScriptedConsumer) => void | Promise<void>) {
    this.config = config
    this.#onRun = onRun
  }

  on(event: string, listener: (event: never) => void): void {
    this.#listeners.set(event, [...(this.#listeners.get(event) ?? []), listener])
  }

  emit(event: string, payload: unknown = {}): void {
    for (const listener of this.#listeners.get(`consumer.${event}`) ?? []) listener({ payload } as never)
  }

  join(assignment: Readonly<Record<string, readonly number[]>>): void {
    this.assignment = assignment
    this.emit('group_join', { memberAssignment: assignment })
  }

  async connect(): Promise<void> {}
  async disconnect(): Promise<void> {}
  async subscribe({ topics }: { topics: string[] }): Promise<void> {
    this.subscribed = topics
  }

  async run({ eachBatch }: { eachBatch: EachBatch }): Promise<void> {
    this.#eachBatch = eachBatch
    this.#loop = setInterval(() => this.#startFetch(), 5)
    try {
      await this.#onRun(this)
    } catch (error) {
      clearInterval(this.#loop)
      throw error
    }
  }

  async stop(): Promise<void> {
    this.stopsAtFetch.push(this.#isStartingFetch)
    clearInterval(this.#loop)
  }

  #startFetch(): void {
    this.#isStartingFetch = true
    try {
      this.emit('fetch_start', { nodeId: 1 })
      if (!this.fetchFails) this.emit('fetch', { nodeId: 1 })
    } catch (error) {
      // A listener that throws ends the fetch with its error, and kafkajs joins again. Here the test joins.
      if ((error as { readonly type?: unknown }).type !== 'REBALANCE_IN_PROGRESS') throw error
    }
    queueMicrotask(() => queueMicrotask(() => (this.#isStartingFetch = false)))
  }

  async commitOffsets(
    offsets: { topic: string; partition: number; offset: string; metadata: string | null }[],
  ): Promise<void> {
    for (const { topic, partition, offset, metadata } of offsets) {
      this.commitsWithoutPayload.push(`${topic}/${partition}@${offset}`)
      this.metadata.set(`${topic}/${partition}`, metadata)
    }
  }

  seek({ topic, partition, offset }: { topic: string; partition: number; offset: string }): void {
    this.seeks.push(`${topic}/${partition}@${offset}`)
  }

  pause(topics: { topic: string; partitions: number[] }[]): void {
    for (const { topic, partitions } of topics) for (const one of partitions) this.pausedNow.add(`${topic}/${one}`)
  }

  resume(topics: { topic: string; partitions: number[] }[]): void {
    for (const { topic, partitions } of topics) for (const one of partitions) this.pausedNow.delete(`${topic}/${one}`)
  }

  paused(): { topic: string; partitions: number[] }[] {
    return Object.entries(this.assignment).map(([topic, partitions]) => ({
      topic,
      partitions: partitions.filter((one) => this.pausedNow.has(`${topic}/${one}`)),
    }))
  }

  /** What a fetch from `fetchedOffset` brought: messages at these offsets, and maybe control records after them. */
  async fetch(
    name: string,
    fetchedOffset: number,
    offsets: readonly number[],
    ends?: number | FetchedAs,
    headers: Readonly<Record<number, Readonly<Record<string, string>>>> = {},
  ): Promise<void> {
    const lastOffset = typeof ends === 'number' ? ends : undefined
    const { timestamps = {}, epochs = {}, markers = [] } = typeof ends === 'object' ? ends : {}
    const [topic = ''] = name.split('/')
    const recordAt = (offset: number): RawMessage => ({
      key: null,
      value: null,
      timestamp: String(timestamps[offset] ?? -1),
      offset: String(offset),
      headers: headers[offset] ?? {},
      batchContext: { partitionLeaderEpoch: epochs[offset] ?? -1 },
    })
    await this.#eachBatch({
      batch: {
        topic,
        partition: partitionOf(name),
        highWatermark: '-1',
        fetchedOffset: String(fetchedOffset),
        messages: offsets.map(recordAt),
        rawMessages: [...offsets, ...markers].toSorted((a, b) => a - b).map(recordAt),
        lastOffset: () => String(lastOffset ?? offsets.at(-1)),
      },
      resolveOffset: (offset) => {
        this.onResolve()
        this.resolved.push(`${name}@${offset}`)
      },
      heartbeat: async () => {
        this.heartbeats++
      },
      commitOffsetsIfNecessary: async (request?: CommitRequest) => {
        await this.onCommit()
        for (const one of request?.topics ?? []) {
          for (const { partition, offset, metadata } of one.partitions) {
            this.commits.push(`${one.topic}/${partition}@${offset}`)
            this.metadata.set(`${one.topic}/${partition}`, metadata)
          }
        }
      },
    })
  }

  /** kafkajs stepped over records that it does not hand out. */
  control(name: string, firstOffset: number | null, lastOffset: number): void {
    this.emit('end_batch_process', {
      topic: name.split('/')[0],
      partition: partitionOf(name),
      batchSize: 0,
      firstOffset: firstOffset === null ? null : String(firstOffset),
      lastOffset: String(lastOffset),
    })
  }
}

interface FetchedAs {
  /** By offset; -1 is none. */
  readonly timestamps?: Readonly<Record<number, number>>
  /** Epoch of the leader that wrote a message, by offset; -1: none. */
  readonly epochs?: Readonly<Record<number, number>>
  /** Offsets of records that kafkajs does not hand over. */
  readonly markers?: readonly number[]
}

function partitionOf(name: string): number {
  return Number(name.split('/')[1])
}

async function notPlayed(): Promise<never> {
  throw new Error('not played')
}
