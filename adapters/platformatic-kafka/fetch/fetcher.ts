import { setTimeout as sleep } from 'node:timers/promises'
import { describeError } from '../../../src/internal.ts'
import type { BatchPayload, CommitRequest, EndBatchProcess, MemberConfig, RawMessage } from '../../kafka/client.ts'
import { AbortedTransactions } from '../../kafka/fetch/aborted-transactions.ts'
import { readRecords, Turns, type Decompress } from '../../kafka/fetch/record-batch.ts'
import type { Report } from '../../kafka/report.ts'
import { nameOf, type TopicPartition } from '../../kafka/topic-partition.ts'
import type { BrokerLike } from '../platformatic-like.ts'
import type { AnswerOf } from '../wire/answers.ts'
import type { Api, Metadata, Wire } from '../wire/wire.ts'
import type { FetchAnswer, FetchedPartition } from './fetch-answer.ts'

interface FetcherParts {
  /** Used for fetches only: a fetch waits at the broker, and whatever is asked after it waits too. */
  readonly wire: Wire
  readonly api: Api
  readonly answerOf: AnswerOf
  readonly config: MemberConfig
  readonly decompressionOf: (codec: number) => Decompress | undefined
  readonly report: Report
  /** What is known of the cluster, asked anew if `isStale`. */
  readonly metadata: (isStale: boolean) => Promise<Metadata>
  /** The first offset of a partition that the broker still has. */
  readonly lowOf: (topic: string, partition: number) => Promise<bigint>
  readonly commit: (request: CommitRequest) => Promise<void>
  readonly listener: {
    batch(payload: BatchPayload): Promise<void>
    controlBatch(batch: EndBatchProcess): void
    fetchFailed(): void
    turned(): void
  }
  /** A topic was created anew under its name. */
  readonly topicReplaced: (topic: string) => void
}

/** A partition that this member fetches. A position moves by what was taken, or by `seek`. */
interface Fetched extends TopicPartition {
  /** Unknown until the first metadata. */
  topicId: string | undefined
  position: bigint
  /** The leader epoch of the last message before the position, -1 if it was sought. */
  lastEpoch: number
  /** Its last batch is being taken. */
  isBusy: boolean
  /** How often in turn its position was out of range, and how often its fetches failed. */
  outOfRange: number
  failures: number
  /** Not fetched before. */
  notBefore: number
}

const WAIT_MS = 500
const MAX_BYTES = 1024 * 1024
const MAX_BYTES_PER_PARTITION = 256 * 1024
/** How long a fetch waits at the broker while a batch is being taken: its partition is next. */
const WAIT_BESIDE_BUSY_MS = 20
const AGAIN_MS = 100
const MOST_AGAIN_MS = 2_000
const UNREADABLE_AGAIN_MS = 1_000
/** A replica that was added just now has a log that is still short. Below that the log is taken at its word. */
const LOOKS_OUT_OF_RANGE = 4
/** A partition without a leader may have one soon. */
const LOOK_AGAIN_MS = 250
const READ_COMMITTED = 1
const ANSWERED_WITHIN_MS = 30_000

/** Fetches the partitions of a member, with one request at a time for each broker. */
export class Fetcher {
  readonly #parts: FetcherParts
  /** By `topic/partition`, those that wait longest first. */
  readonly #partitions = new Map<string, Fetched>()
  /** By name, also of partitions that are not fetched: a pause outlives the assignment. */
  readonly #paused = new Map<string, TopicPartition>()
  /** Where partitions were sent that are assigned, and not fetched yet. */
  readonly #sought = new Map<string, bigint>()
  /** Brokers with a loop. */
  readonly #loops = new Set<number>()
  #lookAgain: NodeJS.Timeout | undefined
  #metadata: Metadata | undefined
  #isOver = false
  #woken: () => void = () => {}
  #news = this.#nextNews()

  constructor(parts: FetcherParts) {
    this.#parts = parts
  }

  /** Fetches these from now on, and no others. Those that it had before go on where they are, if they are kept. */
  assign(starts: ReadonlyMap<string, TopicPartition & { readonly position: bigint }>, isKept = false): void {
    const before = new Map(this.#partitions)
    this.#partitions.clear()
    for (const [name, { topic, partition, position }] of starts) {
      const kept = isKept ? before.get(name) : undefined
      this.#partitions.set(
        name,
        kept ?? {
          topic,
          partition,
          topicId: undefined,
          position: this.#sought.get(name) ?? position,
          lastEpoch: -1,
          isBusy: false,
          outOfRange: 0,
          failures: 0,
          notBefore: 0,
        },
      )
    }
    this.#sought.clear()
    this.#run()
  }

  /** These are not fetched any more. */
  leave(partitions: readonly TopicPartition[]): void {
    for (const partition of partitions) this.#partitions.delete(nameOf(partition))
  }

  seek(topic: string, partition: number, position: bigint): void {
    const name = nameOf({ topic, partition })
    const fetched = this.#partitions.get(name)
    if (fetched === undefined) {
      this.#sought.set(name, position)
      return
    }
    fetched.position = position
    fetched.lastEpoch = -1
    this.#wake()
  }

  pause(topic: string, partition: number, isPaused: boolean): void {
    const name = nameOf({ topic, partition })
    if (isPaused) this.#paused.set(name, { topic, partition })
    else this.#paused.delete(name)
    this.#wake()
  }

  paused(): readonly TopicPartition[] {
    return [...this.#paused.values()]
  }

  /** Nothing is handed over after it. The requests under way end with their connections. */
  stop(): void {
    this.#isOver = true
    clearTimeout(this.#lookAgain)
    this.#partitions.clear()
    this.#wake()
  }

  #run(): void {
    this.#wake()
    void this.#loopOver(false)
  }

  /** Sees to it that each broker that leads a partition has a loop. */
  async #loopOver(isStale: boolean): Promise<void> {
    clearTimeout(this.#lookAgain)
    let isMissing = true
    try {
      this.#learn(await this.#parts.metadata(isStale))
      isMissing = [...this.#partitions.values()].some((fetched) => this.#leaderOf(fetched) === undefined)
    } catch {
      // Asked again below.
    }
    if (this.#isOver) return
    for (const fetched of this.#partitions.values()) {
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
    for (const fetched of this.#partitions.values()) {
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
    return [...this.#partitions.values()].filter((fetched) => this.#leaderOf(fetched) === leader)
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
          !this.#paused.has(nameOf(fetched)),
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
      topics.set(topicId, [...(topics.get(topicId) ?? []), asked])
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
      if (asked === undefined || !this.#isWanted(asked.fetched, asked.offset)) continue
      if (!(await this.#take(asked.fetched, asked.offset, partition, turns))) hasFailed = true
    }
    return hasFailed
  }

  /** What comes for a paused partition is fetched again later. */
  #isWanted(fetched: Fetched, offset: bigint): boolean {
    return !this.#paused.has(nameOf(fetched)) && this.#isCurrent(fetched, offset)
  }

  /** It was not sought meanwhile, and is still ours. */
  #isCurrent(fetched: Fetched, offset: bigint): boolean {
    return !this.#isOver && fetched.position === offset && this.#partitions.get(nameOf(fetched)) === fetched
  }

  /** False if the partition had an error that another look at the cluster may mend. */
  async #take(fetched: Fetched, offset: bigint, answer: FetchedPartition, turns: Turns): Promise<boolean> {
    const error = this.#parts.answerOf(answer.errorCode)
    if (error !== undefined) {
      // Only this partition waits.
      fetched.notBefore = performance.now() + Math.min(MOST_AGAIN_MS, AGAIN_MS * 2 ** fetched.failures++)
      if (error.type === 'OFFSET_OUT_OF_RANGE') return this.#leaveRange(fetched, offset)
      this.#parts.listener.fetchFailed()
      return false
    }
    fetched.outOfRange = 0
    fetched.failures = 0
    if (answer.divergesAt !== undefined) {
      // The log was truncated below what was read. What lies there now is compared with what was handled (BatchGate).
      fetched.position = answer.divergesAt < offset ? answer.divergesAt : offset
      fetched.lastEpoch = -1
      return true
    }
    if (answer.records.length === 0) return true
    let messages: Awaited<ReturnType<typeof readRecords>>
    try {
      messages = await readRecords(answer.records, new AbortedTransactions(answer.aborted), {
        fetchedOffset: () => offset,
        turns,
        decompressionOf: this.#parts.decompressionOf,
      })
    } catch (cause) {
      const name = nameOf(fetched)
      this.#parts.report(
        'adapter-error',
        `${name}: the records from offset ${offset} on cannot be read: ${describeError(cause)}`,
      )
      fetched.notBefore = performance.now() + UNREADABLE_AGAIN_MS
      return true
    }
    if (!this.#isWanted(fetched, offset)) return true
    this.#behindOthers(fetched)
    const within = messages.filter((message) => BigInt(message.offset) >= offset)
    const [first, last] = [within[0], within.at(-1)]
    if (first === undefined || last === undefined) return true
    const visible = within.filter(({ isControlRecord }) => !isControlRecord)
    if (visible.length === 0) this.#stepOver(fetched, offset, { first, last })
    else void this.#handOver(fetched, offset, { answer, raw: messages, visible, last })
    return true
  }

  /** Only markers and aborted messages. */
  #stepOver(
    fetched: Fetched,
    offset: bigint,
    { first, last }: { readonly first: RawMessage; readonly last: RawMessage },
  ): void {
    const { topic, partition } = fetched
    const [firstOffset, lastOffset] = [first.offset, last.offset]
    this.#parts.listener.controlBatch({ topic, partition, batchSize: 0, firstOffset, lastOffset })
    if (this.#isCurrent(fetched, offset)) this.#moveBehind(fetched, last)
  }

  async #handOver(
    fetched: Fetched,
    offset: bigint,
    read: {
      readonly answer: FetchedPartition
      readonly raw: readonly RawMessage[]
      readonly visible: RawMessage[]
      readonly last: RawMessage
    },
  ): Promise<void> {
    const { topic, partition } = fetched
    const { answer, raw, visible, last } = read
    fetched.isBusy = true
    await this.#parts.listener.batch({
      batch: {
        topic,
        partition,
        highWatermark: answer.highWatermark.toString(),
        fetchedOffset: offset.toString(),
        messages: visible,
        rawMessages: raw,
        lastOffset: () => last.offset,
      },
      resolveOffset: (resolved) => {
        if (!this.#isCurrent(fetched, offset)) return
        const at = resolved === last.offset ? last : visible.findLast((message) => message.offset === resolved)
        if (at === undefined) fetched.position = BigInt(resolved) + 1n
        else this.#moveBehind(fetched, at)
      },
      // A timer sends heartbeats.
      heartbeat: async () => {},
      commitOffsetsIfNecessary: async (request) => {
        if (request !== undefined) await this.#parts.commit(request)
      },
    })
    fetched.isBusy = false
    this.#wake()
  }

  #moveBehind(fetched: Fetched, { offset, batchContext }: RawMessage): void {
    fetched.position = BigInt(offset) + 1n
    fetched.lastEpoch = batchContext?.partitionLeaderEpoch ?? -1
  }

  /** The broker fills an answer in the order of the request. */
  #behindOthers(fetched: Fetched): void {
    const name = nameOf(fetched)
    this.#partitions.delete(name)
    this.#partitions.set(name, fetched)
  }

  /** At its word, the log begins above the position or ends below it. What that means is decided by who takes the batches. */
  async #leaveRange(fetched: Fetched, offset: bigint): Promise<boolean> {
    fetched.outOfRange++
    fetched.lastEpoch = -1
    if (fetched.outOfRange < LOOKS_OUT_OF_RANGE) return false
    const low = await this.#parts.lowOf(fetched.topic, fetched.partition).catch(() => undefined)
    if (low === undefined || !this.#isCurrent(fetched, offset)) return false
    fetched.position = low
    return true
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
