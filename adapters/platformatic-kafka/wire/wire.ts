import type { BaseLike, BaseOptionsLike, BrokerLike, ConnectionLike, PlatformaticLike } from '../platformatic-like.ts'
import { answerIn, answersBy, BrokerAnswer, Unanswered, type AnswerOf } from './answers.ts'

type Callback<T> = (error: Error | null, answer: T) => void
/** A request of one version: `api(connection, ...fields, callback)`. */
export interface Api {
  (connection: ConnectionLike, ...fields: unknown[]): void
  readonly version: number
}

/** Partitions of a topic, in the order of their numbers. */
interface TopicMetadata {
  readonly name: string
  readonly id: string
  readonly partitions: readonly PartitionMetadata[]
}

interface PartitionMetadata {
  readonly partition: number
  /** Below 0: it has none. */
  readonly leader: number
  readonly leaderEpoch: number
  readonly replicas: readonly number[]
}

export interface Metadata {
  readonly brokers: ReadonlyMap<number, BrokerLike>
  readonly controller: number
  /** Those that exist and may be seen. */
  readonly topics: ReadonlyMap<string, TopicMetadata>
}

interface MetadataAnswer {
  readonly brokers: readonly (BrokerLike & { readonly nodeId: number })[]
  readonly controllerId: number
  readonly topics: readonly {
    readonly errorCode: number
    readonly name: string | null
    readonly topicId: string
    readonly isInternal: boolean
    readonly partitions: readonly {
      readonly partitionIndex: number
      readonly leaderId: number
      readonly leaderEpoch: number
      readonly replicaNodes: readonly number[]
    }[]
  }[]
}

const TIMEOUT_MS = 30_000
const GROUP = 0

/**
 * Requests to brokers, over connections of the client: one to each broker, made when it is needed. Requests to a broker are
 * answered in their order, so a fetch that waits needs a wire of its own.
 *
 * Every rejection is a `BrokerAnswer` or `Unanswered`. After a time-out the connection is closed: its answers come in
 * the order of the requests, so the next one would wait too.
 */
export class Wire {
  readonly answerOf: AnswerOf
  readonly #lib: PlatformaticLike
  readonly #base: BaseLike
  readonly #apis = new Map<string, Promise<Api>>()
  /** The brokers of the last answer about the cluster. */
  #known: readonly BrokerLike[] = []
  #isClosed = false

  constructor(lib: PlatformaticLike, options: BaseOptionsLike) {
    this.#lib = lib
    this.answerOf = answersBy(lib.protocolErrors)
    // It would try again with an old request, in a group that has moved on.
    this.#base = new lib.Base({ ...options, retries: 0, requestTimeout: 24 * 3_600_000 })
    this.#base.on('error', () => {}) // What its connections meet is told by the requests.
  }

  /** The highest version that both sides know. */
  api(name: string): Promise<Api> {
    let api = this.#apis.get(name)
    if (api === undefined) {
      api = this.#call<Api>(this.#lib.kGetApi, name)
      this.#apis.set(name, api)
      api.catch(() => this.#apis.delete(name))
    }
    return api
  }

  /** Asks a broker, or any of them. */
  async request<T>(
    name: string,
    broker: BrokerLike | undefined,
    fields: readonly unknown[],
    limitMs?: number,
  ): Promise<T> {
    const api = await this.api(name)
    return this.send<T>(api, broker, fields, limitMs)
  }

  async send<T>(
    api: Api,
    broker: BrokerLike | undefined,
    fields: readonly unknown[],
    limitMs: number = TIMEOUT_MS,
  ): Promise<T> {
    const connection = await (broker === undefined ? this.#toAny() : this.#to(broker))
    if (this.#isClosed) throw new Unanswered(new Error('closed'))
    return new Promise<T>((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new Unanswered(new Error(`no answer within ${limitMs} ms`)))
        connection.close(() => {})
      }, limitMs)
      const answered: Callback<T> = (error, answer) => {
        clearTimeout(timer)
        if (error === null || error === undefined) resolve(answer)
        else reject(answerIn(error))
      }
      try {
        api(connection, ...fields, answered)
      } catch (error) {
        clearTimeout(timer)
        reject(answerIn(error))
      }
    })
  }

  /** @param names - `undefined`: all topics. To ask for a missing one does not create it. */
  async metadata(names: readonly string[] | undefined): Promise<Metadata> {
    const asked = this.request<MetadataAnswer>('Metadata', undefined, [
      names === undefined ? null : [...names],
      false,
      false,
    ])
    // With an error of one topic, the client rejects with the answer about all.
    const { brokers, controllerId, topics } = await asked.catch((error: unknown) => {
      const { response } = ((error as Error).cause ?? {}) as { readonly response?: MetadataAnswer }
      if (response === undefined) throw error
      return response
    })
    this.#known = brokers
    return {
      brokers: new Map(brokers.map(({ nodeId, host, port }) => [nodeId, { host, port }])),
      controller: controllerId,
      topics: new Map(
        topics.flatMap(({ errorCode, name, topicId, partitions }) => {
          const error = this.answerOf(errorCode)
          if (name === null || (error !== undefined && partitions.length === 0)) return []
          const sorted = partitions
            .map(({ partitionIndex, leaderId, leaderEpoch, replicaNodes }) => ({
              partition: partitionIndex,
              leader: leaderId,
              leaderEpoch,
              replicas: replicaNodes,
            }))
            .toSorted((a, b) => a.partition - b.partition)
          return [[name, { name, id: topicId, partitions: sorted }] as const]
        }),
      ),
    }
  }

  async coordinatorOf(groupId: string): Promise<BrokerLike> {
    const { coordinators } = await this.request<{
      readonly coordinators: readonly (BrokerLike & { errorCode: number })[]
    }>('FindCoordinator', undefined, [GROUP, [groupId]])
    const [found] = coordinators
    const error = this.answerOf(found?.errorCode ?? 15)
    if (found === undefined || error !== undefined)
      throw error ?? new BrokerAnswer('GROUP_COORDINATOR_NOT_AVAILABLE', true)
    return { host: found.host, port: found.port }
  }

  close(): Promise<void> {
    this.#isClosed = true
    return new Promise((resolve) => this.#base.close(() => resolve()))
  }

  #to(broker: BrokerLike): Promise<ConnectionLike> {
    return this.#call<ConnectionLike>(this.#lib.kGetConnection, broker)
  }

  /** Those that the user named may be gone by now. */
  async #toAny(): Promise<ConnectionLike> {
    try {
      return await this.#call<ConnectionLike>(this.#lib.kGetBootstrapConnection)
    } catch (error) {
      for (const broker of this.#known) {
        const connection = await this.#to(broker).catch(() => undefined)
        if (connection !== undefined) return connection
      }
      throw error
    }
  }

  /** Calls a method of the client that it names by a symbol. */
  #call<T>(name: symbol, ...given: readonly unknown[]): Promise<T> {
    if (this.#isClosed) return Promise.reject(new Unanswered(new Error('closed')))
    const base = this.#base as unknown as Record<symbol, (...given: unknown[]) => void>
    return new Promise<T>((resolve, reject) => {
      base[name]?.(...given, ((error, answer) => {
        if (error === null || error === undefined) resolve(answer)
        else reject(answerIn(error))
      }) satisfies Callback<T>)
    })
  }
}
