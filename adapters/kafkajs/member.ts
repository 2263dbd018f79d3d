import { setTimeout as sleep } from 'node:timers/promises'
import { describeError, StoppedError } from '../../src/internal.ts'
import type {
  BatchPayload,
  FetchedBatch,
  GroupMember,
  MemberListener,
  MemberOptions,
  RawMessage,
} from '../kafka/client.ts'
import { errorType } from '../kafka/protocol-error.ts'
import { connectAny } from './connect-any.ts'
import { consumerOf, decodeForAll, decodeForAllOfInstalled, uncheckedIn } from './fetch/own-decoder.ts'
import type { ConsumerLike, KafkaLike } from './kafkajs-like.ts'

/**
 * kafkajs fetches on although it did not join. It passes over an error of the join that may be retried, such as a
 * coordinator that is loading, and if the group still knows the member, no heartbeat fails: it would never join. With
 * this error, thrown inside of its fetch, it joins (runner.js, isRebalancing).
 */
class NotJoinedError extends Error {
  readonly type = 'REBALANCE_IN_PROGRESS'

  constructor() {
    super('the group rebalances, and kafkajs fetched before it had joined again')
  }
}

/** After its STOP event kafkajs disconnects before it says why it crashed. */
const CRASH_AFTER_STOP_MS = 15_000
/** A topic that was just created is not known to every broker yet. */
const SUBSCRIBE_TRIES = 6
const SUBSCRIBE_AGAIN_MS = 250
const REFUSED_AGAIN_MS = 1_000
const NOT_KAFKAJS =
  'Whether a transaction was aborted cannot be checked with this client: pass the object that new Kafka() of kafkajs 2.2 returns'
/** Long enough to delete a topic, create it anew and fill it, between two fetches. */
const LOOKED_AWAY_MS = 1_000

/** What kafkajs has told of its membership. `rejoining`: of a rebalance, and it has not joined since. */
type InGroup =
  | { readonly is: 'joining' | 'member' | 'rejoining' }
  /** It fetches no more. */
  | { readonly is: 'halted'; readonly hadJoined: boolean }

/**
 * What we do with it.
 *
 *   used ──> stopping ──> leaving ──> over          used ──> over: it crashed, or did not start
 */
type Use =
  /** `stopping`: its start may still be in progress. */
  { readonly is: 'used' | 'stopping' | 'over' } | { readonly is: 'leaving'; readonly atFetchOrHalt: () => void }

/**
 * One kafkajs consumer, from connect to its crash or stop. It never restarts, and it is stopped with care:
 *
 * - If a kafkajs consumer is stopped while it joins, it comes back to life after `stop()` has resolved, holds
 *   partitions and consumes. So nothing restarts on its own here, and `stop()` waits for a join in progress.
 * - If it is stopped while it replaces its fetchers, because the cluster has gained or lost a broker, it starts new
 *   ones that fetch nothing and never leave the microtask queue: the process hangs for good. When a fetch starts, no
 *   replacement is in progress, because the fetcher has just compared the brokers; one microtask later the other
 *   fetchers have started too. The consumer is stopped at that point only.
 */
export class KafkajsMember implements GroupMember {
  readonly consumer: ConsumerLike
  readonly #kafka: KafkaLike
  readonly #options: MemberOptions
  readonly #listener: MemberListener
  readonly #isDecodedHere: boolean
  #inGroup: InGroup = { is: 'joining' }
  #use: Use = { is: 'used' }
  /** Brokers with a fetch in flight. */
  readonly #fetching = new Set<number>()
  /** When the last fetch from each broker succeeded. */
  readonly #fetchedAt = new Map<number, number>()
  /** Brokers from which a fetch began since the last turn, and those from which another one did. */
  readonly #begun = new Set<number>()
  readonly #begunAgain = new Set<number>()
  #starting: Promise<void> | undefined
  #stopped: Promise<void> | undefined
  #joined: () => void = () => {}
  #failed: (error: Error) => void = () => {}

  constructor(kafka: KafkaLike, options: MemberOptions, listener: MemberListener) {
    this.#kafka = kafka
    this.#options = options
    this.#listener = listener
    const retry = { ...options.consumerConfig.retry, restartOnFailure: async () => false }
    const { consumer, isReached } = consumerOf(kafka, { ...options.consumerConfig, retry })
    this.consumer = consumer
    this.#isDecodedHere = isReached
    this.#listen()
  }

  get hasJoined(): boolean {
    const inGroup = this.#inGroup
    return inGroup.is === 'halted' ? inGroup.hadJoined : inGroup.is !== 'joining'
  }

  /** Resolves when it has joined the group. If it rejects, `ended` is not called. */
  start(): Promise<void> {
    this.#starting ??= this.#start()
    return this.#starting
  }

  /** Leaves the group. Idempotent, never rejects. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async #start(): Promise<void> {
    const joined = new Promise<void>((resolve, reject) => {
      this.#joined = resolve
      this.#failed = reject
    })
    joined.catch(() => {})
    try {
      if (!this.#isDecodedHere) await this.#decodeForAll()
      await connectAny(this.consumer)
      await this.#subscribe()
      if (this.#use.is !== 'used') throw new StoppedError('stopped while it started')
      await this.consumer.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        partitionsConsumedConcurrently: this.#options.partitionsConsumedConcurrently,
        eachBatch: (payload) => this.#batch(payload),
      })
      await joined
    } catch (error) {
      if (this.#use.is === 'used') this.#use = { is: 'over' }
      throw error
    }
  }

  /** Without the consumer's own way, there may be one for all consumers of a copy of kafkajs. */
  async #decodeForAll(): Promise<void> {
    if (decodeForAll(this.#kafka) || (await decodeForAllOfInstalled())) return
    this.#options.report('fetch-unchecked', `messages of transactions are not handled. ${NOT_KAFKAJS}`)
  }

  async #subscribe(): Promise<void> {
    for (let tries = 1; this.#use.is === 'used'; tries++) {
      try {
        // Always from the beginning: kafkajs applies this setting after every OFFSET_OUT_OF_RANGE, and to start at the
        // end would lose messages.
        return await this.consumer.subscribe({ topics: [...this.#options.topics], fromBeginning: true })
      } catch (error) {
        if (tries === SUBSCRIBE_TRIES || errorType(error) !== 'UNKNOWN_TOPIC_OR_PARTITION') throw error
      }
      await sleep(SUBSCRIBE_AGAIN_MS)
    }
  }

  async #stop(): Promise<void> {
    if (this.#use.is === 'used') this.#use = { is: 'stopping' }
    await this.#starting?.catch(() => {})
    if (this.hasJoined && this.#inGroup.is !== 'halted') {
      await new Promise<void>((resolve) => {
        const stop = (): void => resolve(this.consumer.stop().catch(() => {}))
        this.#use = { is: 'leaving', atFetchOrHalt: () => queueMicrotask(stop) }
      })
    }
    this.#use = { is: 'over' }
    await this.consumer.disconnect().catch(() => {})
  }

  async #batch(payload: BatchPayload): Promise<void> {
    if (this.#use.is !== 'used') return
    try {
      const unchecked = uncheckedIn(payload.batch.messages)
      if (unchecked !== undefined) return await this.#refuse(payload.batch, unchecked) // mutant: kafka-unchecked-taken
      await this.#listener.batch(payload)
    } catch (error) {
      // A rejection would stop all partitions, and a TypeError would end the consumer for good. The batch comes again.
      this.#options.report('adapter-error', describeError(error))
    }
  }

  /** The batch comes again at once. */
  async #refuse({ topic, partition }: FetchedBatch, { offset }: RawMessage): Promise<void> {
    const text = `${topic}/${partition}: the message at offset ${offset} is part of a transaction, and is not handled`
    this.#options.report('fetch-unchecked', `${text}. ${NOT_KAFKAJS}`)
    await sleep(REFUSED_AGAIN_MS)
  }

  #listen(): void {
    const { consumer } = this
    consumer.on('consumer.group_join', ({ payload }) => {
      const isHalted = this.#inGroup.is === 'halted'
      this.#inGroup = isHalted ? { is: 'halted', hadJoined: true } : { is: 'member' }
      this.#beginTurn()
      this.#joined()
      this.#tell(() => this.#listener.joined(payload))
    })
    consumer.on('consumer.rebalancing', () => {
      if (this.#inGroup.is === 'member') this.#inGroup = { is: 'rejoining' }
      this.#tell(() => this.#listener.rebalancing())
    })
    consumer.on('consumer.end_batch_process', ({ payload }) => {
      if (payload.batchSize === 0) this.#tell(() => this.#listener.controlBatch(payload))
    })
    consumer.on('consumer.fetch_start', ({ payload: { nodeId } }) => {
      this.#leaveNow()
      if (this.#inGroup.is === 'rejoining' && this.#use.is === 'used') throw new NotJoinedError()
      // The previous fetch did not end, so it failed: a broker has one fetch at a time.
      if (this.#fetching.has(nodeId)) this.#tell(() => this.#fetchFailed())
      else if (performance.now() - (this.#fetchedAt.get(nodeId) ?? Infinity) > LOOKED_AWAY_MS) {
        this.#tell(() => this.#listener.lookedAway())
      }
      this.#fetching.add(nodeId)
      this.#countTurn(nodeId)
    })
    consumer.on('consumer.fetch', ({ payload: { nodeId } }) => {
      this.#fetching.delete(nodeId)
      this.#fetchedAt.set(nodeId, performance.now())
    })
    consumer.on('consumer.stop', () => {
      this.#halted()
      if (this.#use.is !== 'used') return
      this.#tell(() => this.#listener.halted())
      setTimeout(() => this.#end(new Error('kafkajs stopped its consumer')), CRASH_AFTER_STOP_MS).unref()
    })
    consumer.on('consumer.crash', ({ payload }) => {
      this.#halted()
      this.#end(payload.error)
    })
  }

  /** The topic may be another one: kafkajs does not tell why. */
  #fetchFailed(): void {
    this.#listener.fetchFailed()
    this.#listener.lookedAway()
  }

  #beginTurn(): void {
    this.#begun.clear()
    this.#begunAgain.clear()
  }

  #countTurn(nodeId: number): void {
    if (this.#begun.has(nodeId)) this.#begunAgain.add(nodeId)
    else this.#begun.add(nodeId)
    if (this.#begunAgain.size < this.#begun.size) return
    this.#beginTurn()
    this.#tell(() => this.#listener.turned())
  }

  #halted(): void {
    this.#inGroup = { is: 'halted', hadJoined: this.hasJoined }
    this.#leaveNow()
  }

  #leaveNow(): void {
    if (this.#use.is !== 'leaving') return
    const { atFetchOrHalt } = this.#use
    this.#use = { is: 'over' }
    atFetchOrHalt()
  }

  #end(error: Error): void {
    this.#failed(error)
    if (this.#use.is !== 'used') return
    if (this.hasJoined) this.#tell(() => this.#listener.ended(error))
    this.#use = { is: 'over' }
  }

  /** An exception in a listener would crash kafkajs. */
  #tell(listener: () => void): void {
    if (this.#use.is === 'leaving' || this.#use.is === 'over') return
    try {
      listener()
    } catch (error) {
      this.#options.report('adapter-error', describeError(error))
    }
  }
}
