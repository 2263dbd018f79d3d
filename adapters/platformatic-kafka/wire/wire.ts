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

interface ApiVersions {
  readonly name: string
  readonly minVersion: number
  readonly maxVersion: number
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
/** A question that any broker can answer is asked of the next one then. */
const ANY_WITHIN_MS = 5_000
const CONNECT_WITHIN_MS = 10_000
const CLOSE_WITHIN_MS = 2_000
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
  /** Those that the user named, and those of the last answer about the cluster. */
  readonly #named: readonly BrokerLike[]
  #known: readonly BrokerLike[] = []
  /** The candidate that answered last. */
  #at = 0
  #versions: Promise<ReadonlyMap<string, ApiVersions>> | undefined
  #isClosed = false

  constructor(lib: PlatformaticLike, options: BaseOptionsLike) {
    this.#lib = lib
    this.#named = options.bootstrapBrokers.map((broker) => lib.parseBroker(broker))
    this.answerOf = answersBy(lib.protocolErrors)
    // Requests have time limits here. It would try again with an old request, in a group that has moved on.
    this.#base = new lib.Base({ ...options, retries: 0, requestTimeout: 24 * 3_600_000 })
    this.#base.on('error', () => {}) // What its connections meet is told by the requests.
  }

  /** The highest version that both sides know. */
  async api(name: string): Promise<Api> {
    const versions = (this.#versions ??= this.#askVersions())
    versions.catch(() => (this.#versions = undefined))
    const { minVersion, maxVersion } = (await versions).get(name) ?? { minVersion: 0, maxVersion: -1 }
    const modules = this.#lib as unknown as Readonly<Record<string, { readonly api: Api } | undefined>>
    const prefix = `${name.charAt(0).toLowerCase()}${name.slice(1)}V`
    for (let version = maxVersion; version >= minVersion; version--) {
      const found = modules[`${prefix}${version}`]
      if (found !== undefined) return found.api
    }
    throw new BrokerAnswer('UNSUPPORTED_VERSION', false)
  }

  /** Asks a broker, or any of them. */
  async request<T>(
    name: string,
    broker: BrokerLike | undefined,
    fields: readonly unknown[],
    limitMs?: number,
  ): Promise<T> {
    const api = await this.api(name)
    return broker === undefined ? this.#ofAny<T>(api, fields) : this.send<T>(api, broker, fields, limitMs)
  }

  async send<T>(api: Api, broker: BrokerLike, fields: readonly unknown[], limitMs: number = TIMEOUT_MS): Promise<T> {
    const connection = await this.#to(broker)
    if (this.#isClosed) throw new Unanswered(new Error('closed'))
    return within<T>(
      limitMs,
      (answered) => api(connection, ...fields, answered),
      () => connection.close(() => {}),
    )
  }

  async #askVersions(): Promise<ReadonlyMap<string, ApiVersions>> {
    const { apiVersionsV3, clientSoftwareName, clientSoftwareVersion } = this.#lib
    const api = apiVersionsV3.api as Api
    const { apiKeys } = await this.#ofAny<{ readonly apiKeys: readonly ApiVersions[] }>(api, [
      clientSoftwareName,
      clientSoftwareVersion,
    ])
    return new Map(apiKeys.map((versions) => [versions.name, versions]))
  }

  /** A broker may be gone, or frozen: it takes connections and answers nothing. The one that answered is asked first from then on. */
  async #ofAny<T>(api: Api, fields: readonly unknown[]): Promise<T> {
    const candidates = [...this.#named, ...this.#known]
    let last = new Unanswered(new Error('no broker is known'))
    for (let tried = 0; tried < candidates.length; tried++) {
      const at = (this.#at + tried) % candidates.length
      const broker = candidates[at]
      if (broker === undefined) break
      try {
        const isLast = tried === candidates.length - 1
        const answer = await this.send<T>(api, broker, fields, isLast ? TIMEOUT_MS : ANY_WITHIN_MS)
        this.#at = at
        return answer
      } catch (error) {
        if (!(error instanceof Unanswered)) {
          this.#at = at
          throw error
        }
        last = error
      }
    }
    throw last
  }

  #to(broker: BrokerLike): Promise<ConnectionLike> {
    if (this.#isClosed) return Promise.reject(new Unanswered(new Error('closed')))
    const base = this.#base as unknown as Record<symbol, (...given: unknown[]) => void>
    return within<ConnectionLike>(
      CONNECT_WITHIN_MS,
      (answered) => base[this.#lib.kGetConnection]?.(broker, answered),
      () => {},
    )
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

  /** Never rejects, and ends also where a connection does not. */
  async close(): Promise<void> {
    this.#isClosed = true
    await within<void>(
      CLOSE_WITHIN_MS,
      (closed) => this.#base.close((error) => closed(error, undefined)),
      () => {},
    ).catch(() => {})
  }
}

/** @param given - gets the callback of the client */
function within<T>(limitMs: number, given: (answered: Callback<T>) => void, onLate: () => void): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new Unanswered(new Error(`no answer within ${limitMs} ms`)))
      onLate()
    }, limitMs)
    try {
      given((error, answer) => {
        clearTimeout(timer)
        if (error === null || error === undefined) resolve(answer)
        else reject(answerIn(error))
      })
    } catch (error) {
      clearTimeout(timer)
      reject(answerIn(error))
    }
  })
}
