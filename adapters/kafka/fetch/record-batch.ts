import { setImmediate as nextTurn } from 'node:timers/promises'
import { abortedAmong, type Listed, type TransactionalBatch } from './aborted-transactions.ts'
import { Bytes } from './bytes.ts'

/** What kafkajs tells of the batch of a message, under its names. */
interface BatchContext {
  readonly firstOffset: string
  readonly firstTimestamp: string
  readonly partitionLeaderEpoch: number
  readonly inTransaction: boolean
  readonly isControlBatch: boolean
  readonly lastOffsetDelta: number
  readonly producerId: string
  readonly producerEpoch: number
  readonly firstSequence: number
  readonly maxTimestamp: string
  readonly timestampType: number
  readonly magicByte: number
}

/** A message as kafkajs makes it. Its `Batch` hands over those that are no control records. */
export interface FetchedMessage {
  readonly magicByte: number
  readonly attributes: number
  readonly timestamp: string
  readonly offset: string
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: Record<string, unknown>
  readonly isControlRecord: boolean
  readonly batchContext: BatchContext
}

interface RecordBatch extends TransactionalBatch {
  readonly context: BatchContext
  marker: TransactionalBatch['marker']
  readonly codec: number
  readonly count: number
  readonly records: Bytes
  readonly offsetOf: (delta: number) => string
  readonly timestampOf: (delta: number | bigint) => string
}

/** The bytes are of a kind that is not read here: a message set of before Kafka 0.11, or a codec that nobody has registered. */
export class NotReadHere extends Error {}

/** The only message format since Kafka 0.11. */
const MAGIC = 2
/** Offset and length, which come before what the length counts. */
const BATCH_PREFIX_BYTES = 12
const CODEC = 0x07
const UNCOMPRESSED = 0
const LOG_APPEND_TIME = 0x08
const TRANSACTIONAL = 0x10
const CONTROL = 0x20

/** How many records and headers are read in one turn of the event loop. */
const MOST_IN_A_TURN = 2_000

/** Lets other work of the process go on while a large fetch is read. */
export class Turns {
  #read = 0

  count(read: number): void {
    this.#read += read
  }

  /** True if it is time to wait for `next()`. */
  get isOver(): boolean {
    return this.#read >= MOST_IN_A_TURN
  }

  async next(): Promise<void> {
    this.#read = 0
    await nextTurn()
  }
}

/** Batches whose transactions were checked here. kafkajs hands the object on with each message. */
const checkedContexts = new WeakSet<object>()

/** True for a message that was checked here: it belongs to no aborted transaction. */
export function isCheckedHere(batchContext: object): boolean {
  return checkedContexts.has(batchContext)
}

export function checkedHere(batchContext: object): void {
  checkedContexts.add(batchContext)
}

export type Decompress = (bytes: Buffer) => Buffer | Promise<Buffer>

export interface Reading {
  /** The requested offset of the partition. */
  readonly fetchedOffset: () => bigint
  readonly turns: Turns
  /** For a codec number of Kafka. `undefined`: it is not known. */
  readonly decompressionOf: (codec: number) => Decompress | undefined | Promise<Decompress | undefined>
}

/**
 * Reads the records that a broker sent for one partition. A batch of an aborted transaction, and a control batch, is
 * passed over: control records take its place, from which kafkajs sees that its position may move past it. So does one
 * at the end of a batch whose last records were removed by compaction; kafkajs itself would move by one offset with
 * each fetch there, and not at all past a batch that has become empty.
 *
 * @throws NotReadHere; RangeError if the bytes are no records
 */
export async function readRecords(given: Buffer, listed: Listed, reading: Reading): Promise<FetchedMessage[]> {
  const messages: FetchedMessage[] = []
  const batches = await batchesIn(new Bytes(given), reading)
  const aborted = batches.some(({ isTransactional }) => isTransactional) ? abortedAmong(listed, batches) : NONE
  for (const batch of batches) {
    if (batch.marker !== undefined || aborted.has(batch)) {
      for (const offset of shownOf(batch, reading.fetchedOffset())) messages.push(passedOver(batch, offset))
    } else {
      await recordsOf(batch, reading, messages)
      if (messages.at(-1)?.offset !== String(batch.lastOffset)) messages.push(passedOver(batch, batch.lastOffset))
    }
  }
  return messages
}

const NONE: ReadonlySet<RecordBatch> = new Set()

async function batchesIn(bytes: Bytes, reading: Reading): Promise<readonly RecordBatch[]> {
  const batches: RecordBatch[] = []
  for (let batch = nextBatch(bytes); batch !== undefined; batch = nextBatch(bytes)) {
    if (batch.context.isControlBatch) batch.marker = (await recordsOf(batch, reading, [])).at(0)?.key ?? null
    batches.push(batch)
  }
  return batches
}

/** `undefined` at the end, where a broker may cut the last batch off. */
function nextBatch(bytes: Bytes): RecordBatch | undefined {
  if (bytes.left < BATCH_PREFIX_BYTES) return undefined
  const firstOffset = bytes.int64()
  const length = bytes.int32()
  if (bytes.left < length) return undefined
  return batchIn(firstOffset, new Bytes(bytes.take(length)))
}

function batchIn(firstOffset: bigint, bytes: Bytes): RecordBatch {
  const partitionLeaderEpoch = bytes.int32()
  const magicByte = bytes.int8()
  if (magicByte !== MAGIC) throw new NotReadHere(`magic byte ${magicByte}`)
  bytes.int32() // The checksum. TCP has one of its own, and to compute this one here costs more than all the rest.
  const attributes = bytes.int16()
  const lastOffsetDelta = bytes.int32()
  const firstTimestamp = bytes.int64()
  const maxTimestamp = String(bytes.int64())
  const producerId = bytes.int64()
  const isAppendTimed = (attributes & LOG_APPEND_TIME) !== 0
  const context: BatchContext = {
    firstOffset: String(firstOffset),
    firstTimestamp: String(firstTimestamp),
    partitionLeaderEpoch,
    inTransaction: (attributes & TRANSACTIONAL) !== 0,
    isControlBatch: (attributes & CONTROL) !== 0,
    lastOffsetDelta,
    producerId: String(producerId),
    producerEpoch: bytes.int16(),
    firstSequence: bytes.int32(),
    maxTimestamp,
    timestampType: isAppendTimed ? 1 : 0,
    magicByte,
  }
  checkedHere(context)
  return {
    context,
    firstOffset,
    lastOffset: firstOffset + BigInt(lastOffsetDelta),
    producerId,
    isTransactional: context.inTransaction,
    marker: undefined,
    codec: attributes & CODEC,
    count: bytes.int32(),
    records: bytes,
    offsetOf: sumsWith(firstOffset),
    timestampOf: isAppendTimed ? () => maxTimestamp : sumsWith(firstTimestamp),
  }
}

/** Adds the records of a batch to `messages`. */
async function recordsOf(
  batch: RecordBatch,
  { turns, decompressionOf }: Reading,
  messages: FetchedMessage[],
): Promise<FetchedMessage[]> {
  const bytes = await decompressed(batch, decompressionOf)
  for (let index = 0; index < batch.count; index++) {
    messages.push(recordIn(bytes, batch, turns))
    if (turns.isOver) await turns.next()
  }
  return messages
}

function recordIn(bytes: Bytes, batch: RecordBatch, turns: Turns): FetchedMessage {
  const length = bytes.varint()
  const end = bytes.left - length
  const attributes = bytes.int8()
  const timestamp = batch.timestampOf(bytes.varlong())
  const offset = batch.offsetOf(bytes.varint())
  const key = bytes.varBytes()
  const value = bytes.varBytes()
  const headerCount = bytes.varint()
  const headers = headersIn(bytes, headerCount)
  turns.count(1 + headerCount)
  if (bytes.left !== end) throw new RangeError(`the record at offset ${offset} does not end where its length says`)
  const { magicByte, isControlBatch } = batch.context
  return {
    magicByte,
    attributes,
    timestamp,
    offset,
    key,
    value,
    headers,
    isControlRecord: isControlBatch,
    batchContext: batch.context,
  }
}

/** A header that comes again becomes an array, in the order of its values. */
function headersIn(bytes: Bytes, count: number): Record<string, unknown> {
  const headers: Record<string, unknown> = {}
  for (let index = 0; index < count; index++) {
    const name = bytes.varText()
    const value = bytes.varBytes()
    if (!Object.hasOwn(headers, name)) setOwn(headers, name, value)
    else if (Array.isArray(headers[name])) headers[name].push(value)
    else setOwn(headers, name, [headers[name], value])
  }
  return headers
}

function setOwn(headers: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') headers[name] = value
  else Object.defineProperty(headers, name, { value, writable: true, enumerable: true, configurable: true })
}

async function decompressed(
  { codec, records }: RecordBatch,
  decompressionOf: Reading['decompressionOf'],
): Promise<Bytes> {
  if (codec === UNCOMPRESSED) return records
  const decompress = await decompressionOf(codec)
  if (decompress === undefined) throw new NotReadHere(`codec ${codec}`)
  return new Bytes(await decompress(records.take(records.left)))
}

/**
 * The offsets that stand for a batch that is passed over: the requested one, which kafkajs tells as the first, that of
 * the last message before it, which is compared with what was handled (`BatchGate`), and the last.
 */
function shownOf({ firstOffset, lastOffset }: RecordBatch, fetched: bigint): ReadonlySet<bigint> {
  const within = (offset: bigint): bigint => (offset > firstOffset ? offset : firstOffset)
  return new Set([within(fetched - 1n), within(fetched), lastOffset])
}

function passedOver({ context }: RecordBatch, offset: bigint): FetchedMessage {
  return {
    magicByte: MAGIC,
    attributes: 0,
    timestamp: context.maxTimestamp,
    offset: String(offset),
    key: null,
    value: null,
    headers: {},
    isControlRecord: true,
    batchContext: context,
  }
}

/** Sums as text. Numbers are faster than bigints. */
function sumsWith(base: bigint): (delta: number | bigint) => string {
  const number = Number(base)
  const isSafe = Math.abs(number) < Number.MAX_SAFE_INTEGER / 2
  return (delta) => (isSafe && typeof delta === 'number' ? String(number + delta) : String(base + BigInt(delta)))
}
