import {
  BrokerError,
  ConfigError,
  decideControlBatch,
  describeError,
  InvariantError,
  ReplayError,
  type ReplayItem,
  type ReplayPart,
} from '../../../src/internal.ts'
import { existingOf } from '../copies/topics.ts'
import { whileBeating } from '../intake/while-beating.ts'
import { Membership } from '../membership/membership.ts'
import type { ResolvedKafka } from '../options/resolve.ts'
import type { BatchPayload, EndBatchProcess, GroupJoin, KafkaClient, RawMessage } from '../client.ts'
import { itemOf } from './item.ts'
import { Part } from './part.ts'
import type { ReplayAdmin } from './log-place.ts'
import { ReadAhead } from './read-ahead.ts'
import { deleteGroup, throwAwayGroup } from './throw-away-group.ts'

interface ReadingParts {
  readonly client: KafkaClient
  readonly adminClient: ReplayAdmin
  readonly options: ResolvedKafka
  readonly topic: string
  readonly parts: readonly ReplayPart[]
  readonly ahead: number
  readonly signal: AbortSignal
}

/** Nothing has come for so long: look whether the messages are still there. */
const LOOK_AFTER_MS = 2_000
const GIVE_UP_AFTER_MS = 120_000

/**
 * Reads the parts once, from the first offset of each to its end, through rejoins, crashes of kafkajs and restarts of
 * brokers. kafkajs only fetches: after each join it is sent to the next offset of each part, and a batch that begins
 * beyond it is dropped. While nobody asks for items, batches wait inside of kafkajs, with heartbeats.
 */
export class Reading {
  readonly #given: ReadingParts
  readonly #groupId = throwAwayGroup()
  /** By partition. */
  readonly #parts: ReadonlyMap<number, Part>
  readonly #ahead: ReadAhead<ReplayItem>
  readonly #membership: Membership
  readonly #aborted: Promise<void>
  #onAbort: () => void = () => {}
  #failure: Error | undefined
  #unansweredSince: number | undefined
  #ended: Promise<void> | undefined

  constructor(given: ReadingParts) {
    this.#given = given
    const { client, adminClient, options, topic, parts, ahead } = given
    this.#parts = new Map(parts.map((part) => new Part(part)).map((part) => [part.partition, part]))
    this.#ahead = new ReadAhead(ahead)
    this.#aborted = new Promise((resolve) => {
      this.#onAbort = () => {
        resolve()
        this.#ahead.notify()
      }
    })
    const { partitionAssigners: _, ...consumer } = options.consumerConfig
    this.#membership = new Membership(
      {
        client,
        companions: undefined,
        partitionsConsumedConcurrently: options.partitionsConsumedConcurrently,
        consumerConfig: { ...consumer, groupId: this.#groupId, allowAutoTopicCreation: false },
        topics: async () => [topic],
        isWorthAnotherTry: (error) => adminClient.isWorthAnotherTry(error),
        report: (event, detail) => {
          if (event === 'adapter-error') this.#fail(new InvariantError('reading.report', detail))
          if (event === 'fetch-unchecked') this.#fail(new ConfigError([`kafka: ${detail}`]))
        },
      },
      {
        batch: (payload) => this.#take(payload),
        controlBatch: (batch) => this.#stepOver(batch),
        joined: (join) => this.#joined(join),
        changed: (join) => this.#joined(join),
        revoking: async () => {},
        rebalancing: () => {},
        fetchFailed: () => {},
        turned: () => {},
        lookedAway: () => {},
        halted: () => {},
        waiting: () => {},
      },
    )
  }

  /** Resolves also when the signal aborts. */
  async start(): Promise<void> {
    const { signal } = this.#given
    if (this.#isOver || signal.aborted) return
    signal.addEventListener('abort', this.#onAbort)
    await Promise.race([this.#membership.start(() => this.#lookFirst()), this.#aborted])
  }

  /** `undefined`: there is nothing more to read, or it was ended. */
  async next(): Promise<readonly ReplayItem[] | undefined> {
    for (;;) {
      if (this.#given.signal.aborted || this.#ahead.isClosed) return undefined
      const items = this.#ahead.takeAll()
      if (items.length > 0) return items
      if (this.#failure !== undefined) throw this.#failure
      if (this.#isOver) return undefined
      if (!(await this.#ahead.news(LOOK_AFTER_MS))) await this.#lookAgain()
    }
  }

  /** Leaves the group and deletes it. Never rejects. */
  end(): Promise<void> {
    this.#ended ??= this.#end()
    return this.#ended
  }

  async #end(): Promise<void> {
    this.#given.signal.removeEventListener('abort', this.#onAbort)
    this.#ahead.close()
    await this.#membership.leave()
    await deleteGroup(this.#given.adminClient, this.#groupId)
  }

  get #isOver(): boolean {
    return [...this.#parts.values()].every((part) => part.isOver)
  }

  #joined({ memberAssignment }: GroupJoin): void {
    for (const partition of memberAssignment[this.#given.topic] ?? []) {
      const part = this.#parts.get(partition)
      if (part === undefined || part.isOver) this.#hold(partition)
      else this.#seek(part)
    }
  }

  async #take(payload: BatchPayload): Promise<void> {
    const { batch } = payload
    const part = this.#parts.get(batch.partition)
    if (part === undefined || part.isOver) return this.#hold(batch.partition)
    if (BigInt(batch.fetchedOffset ?? '') > part.next) return this.#goBack(part)
    if (!(await this.#takeMessages(part, payload))) return
    part.reach(BigInt(batch.lastOffset()) + 1n)
    this.#holdIfOver(part)
    try {
      payload.resolveOffset(batch.lastOffset())
    } catch {
      // kafkajs has just lost the partition. After the next join it is sent to the next offset.
    }
  }

  /** False if the batch must be left: it comes again, from the next offset. */
  async #takeMessages(part: Part, payload: BatchPayload): Promise<boolean> {
    for (const raw of payload.batch.messages) {
      while (this.#ahead.isFull && !this.#ahead.isClosed) if (!(await this.#room(payload))) return false
      if (this.#ahead.isClosed) return false
      this.#put(part, raw)
    }
    return true
  }

  /** After a rejoin two batches of a partition may be under way: each adds what the other has not. */
  #put(part: Part, raw: RawMessage): void {
    const offset = BigInt(raw.offset)
    if (offset < part.next || offset >= part.to) return
    this.#ahead.put(itemOf(part, raw, this.#given.options.topology), (raw.value?.length ?? 0) + (raw.key?.length ?? 0))
    part.reach(offset + 1n)
  }

  async #room(payload: BatchPayload): Promise<boolean> {
    const room = this.#ahead.room().then(() => true)
    const beating = {
      heartbeat: () => payload.heartbeat(),
      everyMs: this.#given.options.consumerConfig.heartbeatInterval,
      limitMs: Infinity,
    }
    return (await whileBeating(room, beating)) === true
  }

  /** Transaction markers and aborted messages, which kafkajs passes over. */
  #stepOver({ partition, firstOffset, lastOffset }: EndBatchProcess): void {
    const part = this.#parts.get(partition)
    const last = BigInt(lastOffset)
    if (part === undefined || part.isOver || last < part.next) return
    const first = (firstOffset as string | null) === null ? undefined : BigInt(firstOffset)
    const seenAgain = first !== undefined && first === part.suspect
    if (decideControlBatch({ first, last, expected: part.next, seenAgain }) === 'enter') {
      part.reach(last + 1n)
      this.#holdIfOver(part)
    } else {
      part.suspect = first
      this.#seek(part)
    }
  }

  /** kafkajs has jumped: after a rejoin, or because the offset is out of range. */
  async #goBack(part: Part): Promise<void> {
    await this.#lookAgain()
    this.#seek(part)
  }

  #holdIfOver(part: Part): void {
    if (!part.isOver) return
    this.#hold(part.partition)
    this.#ahead.notify()
  }

  #hold(partition: number): void {
    try {
      this.#membership.consumer?.pause([{ topic: this.#given.topic, partitions: [partition] }])
    } catch {
      // There is no group between a crash and the next join, which decides anew.
    }
  }

  #seek(part: Part): void {
    this.#membership.seek(part, part.next)
  }

  async #lookFirst(): Promise<readonly string[]> {
    await this.#look()
    if (this.#failure !== undefined) throw this.#failure
    return [this.#given.topic]
  }

  async #lookAgain(): Promise<void> {
    try {
      await this.#look()
      this.#unansweredSince = undefined
    } catch (error) {
      const since = (this.#unansweredSince ??= performance.now())
      if (performance.now() - since < GIVE_UP_AFTER_MS) return
      const { topic } = this.#given
      const text = `topic ${topic} was not answered for ${GIVE_UP_AFTER_MS / 1_000} s: ${describeError(error)}. Start again where it ended`
      this.#fail(new BrokerError('BROKER_UNREACHABLE', text, { cause: error }))
    }
  }

  /** Fails if messages of the range are gone. Rejects if the broker does not answer. */
  async #look(): Promise<void> {
    const { adminClient, topic } = this.#given
    const bounds = await adminClient.ask(async (admin) => {
      // To ask for a missing topic may create it.
      const isThere = (await existingOf(admin, [topic])).has(topic)
      return isThere ? admin.fetchTopicOffsets(topic) : []
    })
    const byPartition = new Map(
      bounds.map(({ partition, low, high }) => [partition, { low: BigInt(low), high: BigInt(high) }]),
    )
    const lost = [...this.#parts.values()].flatMap((part) => part.lossIn(byPartition.get(part.partition)) ?? [])
    if (lost.length === 0) return
    const text = `the broker has removed messages of the range: ${lost.join('; ')}. Make a new plan from what is there`
    this.#fail(new ReplayError('REPLAY_RANGE_LOST', text))
  }

  #fail(error: Error): void {
    this.#failure ??= error
    this.#ahead.notify()
  }
}
