import { setTimeout as sleep } from 'node:timers/promises'
import type { MemberConfig } from '../../kafka/client.ts'
import { Turns } from '../../kafka/fetch/record-batch.ts'
import type { TopicPartition } from '../../kafka/topic-partition.ts'
import type { BrokerLike } from '../platformatic-like.ts'
import type { Api, Metadata, Wire } from '../wire/wire.ts'
import type { FetchAnswer } from './fetch-answer.ts'
import { FetchedPartitions, type Fetched } from './fetched-partitions.ts'
import { AGAIN_MS, MOST_AGAIN_MS, PartitionAnswers, type AnswerParts } from './partition-answers.ts'

interface FetcherParts extends AnswerParts {
  /** Used for fetches only: a fetch waits at the broker, and whatever is asked after it waits too. */
  readonly wire: Wire
  readonly api: Api
  readonly config: MemberConfig
  /** What is known of the cluster, asked anew if `isStale`. */
  readonly metadata: (isStale: boolean) => Promise<Metadata>
  readonly listener: AnswerParts['listener'] & { turned(): void }
  /** A topic was created anew under its name. */
  readonly topicReplaced: (topic: string) => void
}

const WAIT_MS = 500
const MAX_BYTES = 1024 * 1024
const MAX_BYTES_PER_PARTITION = 256 * 1024
/** How long a fetch waits at the broker while a batch is being taken: its partition is next. */
const WAIT_BESIDE_BUSY_MS = 20
/** A partition without a leader may have one soon. */
const LOOK_AGAIN_MS = 250
const READ_COMMITTED = 1
const ANSWERED_WITHIN_MS = 30_000

/** Fetches the partitions of a member, with one request at a time for each broker. */
export class Fetcher {
  readonly #parts: FetcherParts
  readonly #partitions = new FetchedPartitions()
  readonly #answers: PartitionAnswers
  /** Brokers with a loop. */
  readonly #loops = new Set<number>()
  #lookAgain: NodeJS.Timeout | undefined
  #metadata: Metadata | undefined
  #isOver = false
  #woken: () => void = () => {}
  #news = this.#nextNews()

  constructor(parts: FetcherParts) {
    this.#parts = parts
    this.#answers = new PartitionAnswers(parts, this.#partitions, () => this.#wake())
  }

  /** Fetches these from now on, and no others. Those that it had before go on where they are, if they are kept. */
  assign(starts: ReadonlyMap<string, TopicPartition & { readonly position: bigint }>, isKept = false): void {
    this.#partitions.assign(starts, isKept)
    this.#wake()
    void this.#loopOver(false)
  }

  /** These are not fetched any more. */
  leave(partitions: readonly TopicPartition[]): void {
    this.#partitions.leave(partitions)
  }

  seek(topic: string, partition: number, position: bigint): void {
    this.#partitions.seek(topic, partition, position)
    this.#wake()
  }

  pause(topic: string, partition: number, isPaused: boolean): void {
    this.#partitions.pause(topic, partition, isPaused)
    this.#wake()
  }

  paused(): readonly TopicPartition[] {
    return this.#partitions.paused()
  }

  /** Nothing is handed over after it. The requests under way end with their connections. */
  stop(): void {
    this.#isOver = true
    clearTimeout(this.#lookAgain)
    this.#partitions.clear()
    this.#wake()
  }

  /** Sees to it that each broker that leads a partition has a loop. */
  async #loopOver(isStale: boolean): Promise<void> {
    clearTimeout(this.#lookAgain)
    let isMissing = true
    try {
      this.#learn(await this.#parts.metadata(isStale))
      isMissing = this.#partitions.all().some((fetched) => this.#leaderOf(fetched) === undefined)
    } catch {
      // Asked again below.
    }
    if (this.#isOver) return
    for (const fetched of this.#partitions.all()) {
      const leader = this.#leaderOf(fetched)
      if (leader !== undefined) void this.#start(leader)
    }
    if (!isMissing) return
    this.#parts.listener.fetchFailed()
    clearTimeout(this.#lookAgain)
    this.#lookAgain = setTimeout(() => void this.#loopOver(true), LOOK_AGAIN_MS)
  }

  async #start(leader: number): Promise<void> {
    if (this.#loops.has(leader)) return
    this.#loops.add(leader)
    await this.#loop(leader)
    this.#loops.delete(leader)
    // It may have got a partition while its loop ended.
    if (!this.#isOver && this.#ownOf(leader).length > 0) void this.#start(leader)
  }

  #learn(metadata: Metadata): void {
    this.#metadata = metadata
    for (const fetched of this.#partitions.all()) {
      const id = metadata.topics.get(fetched.topic)?.id
      if (id === undefined) continue
      if (fetched.topicId !== undefined && fetched.topicId !== id) return this.#parts.topicReplaced(fetched.topic)
      fetched.topicId = id
    }
  }

  /** `undefined`: it has none, or none that is known. */
  #leaderOf({ topic, partition }: TopicPartition): number | undefined {
    const leader = this.#metadata?.topics.get(topic)?.partitions[partition]?.leader
    return leader !== undefined && this.#metadata?.brokers.has(leader) === true ? leader : undefined
  }

  #ownOf(leader: number): readonly Fetched[] {
    return this.#partitions.all().filter((fetched) => this.#leaderOf(fetched) === leader)
  }

  /** Until this broker leads none of the partitions. */
  async #loop(leader: number): Promise<void> {
    for (let failures = 0; !this.#isOver;) {
      const broker = this.#metadata?.brokers.get(leader)
      const own = this.#ownOf(leader)
      if (broker === undefined || own.length === 0) return
      const now = performance.now()
      const ready = own.filter(
        (fetched) =>
          !fetched.isBusy &&
          fetched.topicId !== undefined &&
          fetched.notBefore <= now &&
          !this.#partitions.isPaused(fetched),
      )
      if (ready.length === 0) {
        await this.#change(own)
        continue
      }
      try {
        const isBesideBusy = own.some(({ isBusy }) => isBusy)
        const hasFailed = await this.#fetch(broker, ready, isBesideBusy)
        failures = 0
        this.#parts.listener.turned()
        if (hasFailed) await this.#loopOver(true)
      } catch {
        if (this.#isOver) return
        failures++
        this.#parts.listener.fetchFailed()
        await sleep(Math.min(MOST_AGAIN_MS, AGAIN_MS * 2 ** (failures - 1)))
        await this.#loopOver(true)
      }
    }
  }

  /** Resolves when a partition may be ready. */
  async #change(own: readonly Fetched[]): Promise<void> {
    const next = Math.min(...own.map(({ notBefore }) => notBefore).filter((at) => at > performance.now()))
    if (next === Infinity) return this.#news
    const given = new AbortController()
    const due = sleep(Math.max(1, next - performance.now()), undefined, { signal: given.signal }).catch(() => {})
    await Promise.race([this.#news, due])
    given.abort()
  }

  /** True if a partition had an error that another look at the cluster may mend. */
  async #fetch(broker: BrokerLike, ready: readonly Fetched[], isBesideBusy: boolean): Promise<boolean> {
    const { wire, api, config } = this.#parts
    const sent = new Map<string, { readonly fetched: Fetched; readonly offset: bigint }>()
    const topics = new Map<string, unknown[]>()
    for (const fetched of ready) {
      const { topicId = '', topic, partition, position, lastEpoch } = fetched
      const leaderEpoch = this.#metadata?.topics.get(topic)?.partitions[partition]?.leaderEpoch ?? -1
      const asked = {
        partition,
        currentLeaderEpoch: leaderEpoch,
        fetchOffset: position,
        lastFetchedEpoch: lastEpoch,
        partitionMaxBytes: config.maxBytesPerPartition ?? MAX_BYTES_PER_PARTITION,
      }
      const ofTopic = topics.get(topicId)
      if (ofTopic === undefined) topics.set(topicId, [asked])
      else ofTopic.push(asked)
      sent.set(`${topicId}/${partition}`, { fetched, offset: position })
    }
    const waitMs = isBesideBusy ? WAIT_BESIDE_BUSY_MS : (config.maxWaitTimeInMs ?? WAIT_MS)
    const answer = await wire.send<FetchAnswer>(
      api,
      broker,
      [
        waitMs,
        config.minBytes ?? 1,
        config.maxBytes ?? MAX_BYTES,
        READ_COMMITTED,
        0,
        0,
        [...topics].map(([topicId, partitions]) => ({ topicId, partitions })),
        [],
        '',
      ],
      waitMs + ANSWERED_WITHIN_MS,
    )
    let hasFailed = this.#parts.answerOf(answer.errorCode) !== undefined
    const turns = new Turns()
    for (const partition of answer.partitions) {
      const asked = sent.get(`${partition.topicId}/${partition.partition}`)
      if (asked === undefined || !this.#partitions.isWanted(asked.fetched, asked.offset)) continue
      if (!(await this.#answers.take(asked.fetched, asked.offset, partition, turns))) hasFailed = true
    }
    return hasFailed
  }

  #wake(): void {
    const woken = this.#woken
    this.#news = this.#nextNews()
    woken()
  }

  #nextNews(): Promise<void> {
    return new Promise((resolve) => {
      this.#woken = resolve
    })
  }
}
