import type { MemberConfig, RawMessage } from '../../kafka/client.ts'
import type { ConsumerLike, KafkaLike } from '../kafkajs-like.ts'
import { abortedAmong, type TransactionalBatch } from '../../kafka/fetch/aborted-transactions.ts'
import { FIRST_VERSION, LAST_VERSION, readFetchResponse, type FetchedOffsets } from './fetch-response.ts'
import { checkedHere, isCheckedHere, NotReadHere } from '../../kafka/fetch/record-batch.ts'

/**
 * kafkajs decodes and filters what it fetches before anything of it can be seen from outside, and does both wrongly
 * (K22, K23). So the answers to its fetch requests are decoded here. The way there begins at the `Kafka` object of the
 * user, so it leads into the same copy of kafkajs, however that was installed, bundled or loaded: under a symbol the
 * object has the function that makes its clusters, a cluster finds its brokers, and a broker looks up how a response is
 * decoded.
 */
type CreateCluster = (options: object) => ClusterOfKafkajs

interface ClusterOfKafkajs {
  findBroker: (options: unknown) => Promise<BrokerOfKafkajs>
}

interface BrokerOfKafkajs {
  lookupRequest: Lookup
}

type Lookup = (apiKey: number, definition: unknown) => (request: FetchRequest) => Protocol

interface FetchRequest {
  readonly isolationLevel: number
  readonly topics: readonly {
    readonly topic: string
    readonly partitions: readonly { readonly partition: number; readonly fetchOffset: string }[]
  }[]
}

interface Protocol {
  readonly request: { readonly apiVersion: number }
  readonly response: { readonly decode: (bytes: Buffer) => Promise<unknown> }
}

/** A response as kafkajs decodes it. */
interface ResponseOfKafkajs {
  readonly responses: readonly { readonly partitions: readonly PartitionOfKafkajs[] }[]
}

interface PartitionOfKafkajs {
  abortedTransactions?: readonly { readonly producerId: string; readonly firstOffset: string }[]
  readonly messages: readonly MessageOfKafkajs[]
}

interface MessageOfKafkajs {
  readonly offset: string
  readonly key: Buffer | null
  isControlRecord?: boolean
  /** Absent in message sets, which are older than transactions. */
  readonly batchContext?: { readonly producerId: string; readonly inTransaction: boolean }
}

const CREATE_CLUSTER = 'private:Kafka:createCluster'
const FETCH = 1
const READ_UNCOMMITTED = 0

/**
 * A consumer of this client whose fetched messages are decoded here. Nothing else of the client changes. `isReached` is
 * false if this is not kafkajs as it is known: then it decodes by itself.
 */
export function consumerOf(
  kafka: KafkaLike,
  config: MemberConfig,
): { readonly consumer: ConsumerLike; readonly isReached: boolean } {
  const factory = factoryOf(kafka)
  if (factory === undefined) return { consumer: kafka.consumer(config), isReached: false }
  const { holder, name, create } = factory
  let isReached = false
  const reaching: CreateCluster = (options) => {
    const cluster = create.call(kafka, options)
    isReached = reach(cluster)
    return cluster
  }
  // Only for this synchronous call: the client's other consumers stay as they are.
  const isReplaced = Reflect.set(holder, name, reaching)
  try {
    const consumer = kafka.consumer(config)
    return { consumer, isReached }
  } finally {
    if (isReplaced) Reflect.set(holder, name, create)
  }
}

/**
 * For consumers that exist already: all consumers of the client's copy of kafkajs, in the whole process, have their
 * messages decoded here from their next fetch on. False if this is not kafkajs as it is known.
 */
export function decodeForAll(kafka: KafkaLike): boolean {
  const factory = factoryOf(kafka)
  if (factory === undefined) return false
  // A cluster connects to nothing before it is asked to.
  return reach(Object.getPrototypeOf(factory.create.call(kafka, {})) as ClusterOfKafkajs)
}

/** As `decodeForAll`, for the copy of kafkajs that is loaded from here. It need not be that of the program. */
export async function decodeForAllOfInstalled(): Promise<boolean> {
  try {
    const { default: kafkajs } = await import('kafkajs')
    const client = new kafkajs.Kafka({ brokers: ['127.0.0.1:9'], logLevel: kafkajs.logLevel.NOTHING })
    return decodeForAll(client)
  } catch {
    return false
  }
}

/** True if this is a client of kafkajs as it is known. */
export function isKafkajs(client: object): boolean {
  return factoryOf(client) !== undefined
}

/** The first message of which it is unknown whether its transaction was aborted: it was not decoded here. */
export function uncheckedIn(messages: readonly RawMessage[]): RawMessage | undefined {
  let checked: object | undefined
  return messages.find(({ batchContext }) => {
    if (batchContext === undefined || batchContext === checked) return false
    if (batchContext.inTransaction === true && !isCheckedHere(batchContext)) return true
    checked = batchContext
    return false
  })
}

/** Where the client, or what it inherits from, has the function that makes clusters. */
function factoryOf(kafka: object): { holder: object; name: symbol; create: CreateCluster } | undefined {
  for (let holder: object | null = kafka; holder !== null; holder = Object.getPrototypeOf(holder) as object | null) {
    const name = Object.getOwnPropertySymbols(holder).find(({ description }) => description === CREATE_CLUSTER)
    const create: unknown = name && Reflect.get(holder, name)
    if (name !== undefined && typeof create === 'function') return { holder, name, create: create as CreateCluster }
  }
  return undefined
}

const reached = new WeakSet<object>()

/** `cluster` may be the prototype of all clusters. */
function reach(cluster: ClusterOfKafkajs | null | undefined): boolean {
  if (typeof cluster?.findBroker !== 'function') return false
  if (reached.has(cluster)) return true
  const { findBroker } = cluster
  cluster.findBroker = async function (this: ClusterOfKafkajs, options: unknown): Promise<BrokerOfKafkajs> {
    const broker = await findBroker.call(this, options)
    if (typeof broker?.lookupRequest === 'function') decodeFetchesOf(broker)
    return broker
  }
  reached.add(cluster)
  return true
}

/** A broker looks its protocols up anew after each connect. */
function decodeFetchesOf(broker: BrokerOfKafkajs): void {
  if (reached.has(broker)) return
  let lookup = withOwnFetch(broker.lookupRequest)
  Object.defineProperty(broker, 'lookupRequest', {
    configurable: true,
    enumerable: true,
    get: () => lookup,
    set: (given: Lookup) => {
      lookup = withOwnFetch(given)
    },
  })
  reached.add(broker)
}

function withOwnFetch(lookup: Lookup): Lookup {
  return (apiKey, definition) => {
    const make = lookup(apiKey, definition)
    return apiKey === FETCH ? (request) => withOwnDecoder(make(request), request) : make
  }
}

function withOwnDecoder(protocol: Protocol, request: FetchRequest): Protocol {
  const { apiVersion: version } = protocol.request
  if (version < FIRST_VERSION || version > LAST_VERSION) return protocol
  const decode = async (bytes: Buffer): Promise<unknown> => {
    try {
      return await readFetchResponse(bytes, version, offsetsIn(request))
    } catch (error) {
      if (!(error instanceof NotReadHere)) throw error
      const response = (await protocol.response.decode(bytes)) as ResponseOfKafkajs
      return withoutAborted(response, request.isolationLevel === READ_UNCOMMITTED)
    }
  }
  return { ...protocol, response: { ...protocol.response, decode } }
}

function offsetsIn({ topics }: FetchRequest): FetchedOffsets {
  return (topic, partition) => {
    const partitions = topics.find((one) => one.topic === topic)?.partitions
    return BigInt(partitions?.find((one) => one.partition === partition)?.fetchOffset ?? 0)
  }
}

/** Passes aborted messages over in what kafkajs has decoded: it hands no control records over. */
function withoutAborted(response: ResponseOfKafkajs, isUncommitted: boolean): ResponseOfKafkajs {
  for (const partition of response.responses.flatMap(({ partitions }) => partitions)) {
    const listed = (partition.abortedTransactions ?? []).map(({ producerId, firstOffset }) => ({
      producerId: BigInt(producerId),
      firstOffset: BigInt(firstOffset),
    }))
    const batches = partition.messages.flatMap((message) => batchOf(message))
    const aborted = abortedAmong(isUncommitted ? undefined : listed, batches)
    for (const batch of batches) {
      if (aborted.has(batch)) batch.message.isControlRecord = true
      checkedHere(batch.context)
    }
    partition.abortedTransactions = []
  }
  return response
}

interface BatchOfMessage extends TransactionalBatch {
  readonly message: MessageOfKafkajs
  readonly context: object
}

/** A message as a batch of one; none if it is older than transactions. */
function batchOf(message: MessageOfKafkajs): BatchOfMessage[] {
  const { offset, key, isControlRecord, batchContext: context } = message
  if (context === undefined) return []
  const at = BigInt(offset)
  const [producerId, isTransactional] = [BigInt(context.producerId), context.inTransaction]
  const marker = isControlRecord === true ? key : undefined
  return [{ message, context, firstOffset: at, lastOffset: at, producerId, isTransactional, marker }]
}
