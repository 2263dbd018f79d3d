import { describeError } from '../../../src/internal.ts'
import { abortedIn, type Listed } from '../../kafka/fetch/aborted-transactions.ts'
import { Bytes } from '../../kafka/fetch/bytes.ts'
import { readRecords, Turns, type FetchedMessage } from '../../kafka/fetch/record-batch.ts'
import { decompressionOf } from './codecs.ts'

/** The answer to a fetch as kafkajs decodes it, in its names. */
export interface FetchResponse {
  readonly throttleTime: number
  readonly clientSideThrottleTime?: number
  readonly errorCode?: number
  readonly sessionId?: number
  readonly responses: { topicName: string; partitions: FetchedPartition[] }[]
}

interface FetchedPartition {
  readonly partition: number
  readonly errorCode: number
  readonly highWatermark: string
  readonly lastStableOffset: string
  readonly lastStartOffset?: string
  readonly preferredReadReplica?: number
  /** Always empty: kafkajs has nothing left to filter. */
  readonly abortedTransactions: readonly []
  readonly messages: FetchedMessage[]
}

/** The offsets of a fetch request. */
export type FetchedOffsets = (topic: string, partition: number) => bigint

/** The versions that are read here. Older brokers than Kafka 0.11 have neither transactions nor headers. */
export const FIRST_VERSION = 4
export const LAST_VERSION = 11

/**
 * Reads the answer to a fetch request, in place of kafkajs. The result is what kafkajs would make of it, except that
 * messages of aborted transactions are not handed over (`readRecords`).
 *
 * @throws NotReadHere; Error that names the partition if the bytes are no answer
 */
export async function readFetchResponse(
  given: Buffer,
  version: number,
  fetchedOffsets: FetchedOffsets,
): Promise<FetchResponse> {
  const bytes = new Bytes(given)
  const turns = new Turns()
  const throttleTime = bytes.int32()
  const session = version < 7 ? {} : { errorCode: bytes.int16(), sessionId: bytes.int32() }
  const responses: FetchResponse['responses'] = []
  for (let topics = bytes.int32(); topics > 0; topics--) {
    const topicName = bytes.text()
    const partitions: FetchedPartition[] = []
    for (let count = bytes.int32(); count > 0; count--) {
      const header = partitionHeader(bytes, version)
      const fetchedOffset = (): bigint => fetchedOffsets(topicName, header.told.partition)
      partitions.push(await partitionOf(topicName, header, { fetchedOffset, turns }))
    }
    responses.push({ topicName, partitions })
  }
  // From this version on the broker does not throttle: the client must (KIP-219).
  const throttle = version < 8 ? { throttleTime } : { throttleTime: 0, clientSideThrottleTime: throttleTime }
  return { ...throttle, ...session, responses }
}

interface PartitionHeader {
  readonly told: Omit<FetchedPartition, 'abortedTransactions' | 'messages'>
  readonly aborted: Listed
  readonly records: Buffer
}

function partitionHeader(bytes: Bytes, version: number): PartitionHeader {
  const told = {
    partition: bytes.int32(),
    errorCode: bytes.int16(),
    highWatermark: String(bytes.int64()),
    lastStableOffset: String(bytes.int64()),
    ...(version >= 5 && { lastStartOffset: String(bytes.int64()) }),
  }
  const aborted = abortedIn(bytes, bytes.int32())
  const replica = version >= 11 ? { preferredReadReplica: bytes.int32() } : {}
  const records = bytes.take(Math.max(0, bytes.int32()))
  return { told: { ...told, ...replica }, aborted, records }
}

async function partitionOf(
  topic: string,
  { told, aborted, records }: PartitionHeader,
  place: { readonly fetchedOffset: () => bigint; readonly turns: Turns },
): Promise<FetchedPartition> {
  try {
    const messages = await readRecords(records, aborted, { ...place, decompressionOf })
    return { ...told, abortedTransactions: [], messages }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    // A RangeError would end the consumer of kafkajs for good.
    const text = `${topic}/${told.partition}: the records from offset ${place.fetchedOffset()} on cannot be read: ${describeError(error)}`
    throw new Error(text, { cause: error })
  }
}
