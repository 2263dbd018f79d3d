import { Bytes } from '../../kafka/fetch/bytes.ts'
import { abortedIn, type Listed } from '../../kafka/fetch/aborted-transactions.ts'
import type { ApiModuleLike, PlatformaticLike, ReaderLike } from '../platformatic-like.ts'
import type { Api } from '../wire/wire.ts'

/** What a broker says of one partition, with the records as they came. */
export interface FetchedPartition {
  readonly topicId: string
  readonly partition: number
  readonly errorCode: number
  readonly highWatermark: bigint
  readonly aborted: Listed
  /** Where the log parted from the one that was read so far: it was truncated (KIP-320, KIP-595). */
  readonly divergesAt: bigint | undefined
  readonly records: Buffer
}

export interface FetchAnswer {
  readonly errorCode: number
  readonly partitions: readonly FetchedPartition[]
}

type CreateApi = (
  key: number,
  version: number,
  createRequest: ApiModuleLike['createRequest'],
  parseResponse: (correlation: number, key: number, version: number, reader: ReaderLike) => unknown,
) => Api

/** The first version with the IDs of topics. A topic that was created anew has another one. */
const FIRST_VERSION = 13
const FETCH = 1
const UUID_BYTES = 16
/** The tag of DivergingEpoch, of whose fields the second is the offset. */
const DIVERGING_EPOCH = 0

/**
 * A fetch whose answer is read here. The client decodes all records in one go, takes messages of aborted transactions for
 * committed ones where their marker comes in a later fetch, and throws the answer of all partitions away if one has an
 * error.
 *
 * @param highest - the highest version that client and broker know
 */
export function fetchApi(lib: PlatformaticLike, highest: number): Api {
  if (highest < FIRST_VERSION) {
    throw new Error(`expected a broker of Kafka 3.1 or later, which fetches by the IDs of topics, got Fetch ${highest}`)
  }
  // Up to 14 a request has a field more, which later ones leave out.
  const version = Math.min(highest, 17)
  const { createRequest } = (lib as unknown as Record<string, ApiModuleLike>)[`fetchV${version}`] ?? lib.fetchV17
  const createApi = lib.createAPI as CreateApi
  return createApi(FETCH, version, createRequest, (_correlation, _key, _version, reader) => answerIn(reader))
}

/** Versions 13 to 17 have the same answer, but for tagged fields. */
function answerIn(reader: ReaderLike): FetchAnswer {
  const bytes = new Bytes(reader.buffer.slice(reader.position))
  bytes.int32() // How long the broker has throttled it.
  const errorCode = bytes.int16()
  bytes.int32() // Without a session.
  const partitions: FetchedPartition[] = []
  for (let topics = bytes.uvarint() - 1; topics > 0; topics--) {
    const topicId = uuidIn(bytes)
    for (let count = bytes.uvarint() - 1; count > 0; count--) partitions.push(partitionIn(topicId, bytes))
    bytes.tagged()
  }
  return { errorCode, partitions }
}

function partitionIn(topicId: string, bytes: Bytes): FetchedPartition {
  const partition = bytes.int32()
  const errorCode = bytes.int16()
  const highWatermark = bytes.int64()
  bytes.int64() // The last stable offset.
  bytes.int64() // The first offset of the log.
  const aborted = abortedIn(bytes, bytes.uvarint() - 1, () => bytes.tagged())
  bytes.int32() // A replica that is nearer.
  const records = bytes.take(Math.max(0, bytes.uvarint() - 1))
  const diverging = bytes.tagged().get(DIVERGING_EPOCH)
  const divergesAt = diverging === undefined ? undefined : diverging.readBigInt64BE(4)
  return { topicId, partition, errorCode, highWatermark, aborted, divergesAt, records }
}

function uuidIn(bytes: Bytes): string {
  const hex = bytes.take(UUID_BYTES).toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
