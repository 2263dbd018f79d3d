import { describeError } from '../../../src/internal.ts'
import type { BatchPayload, CommitRequest, EndBatchProcess, RawMessage } from '../../kafka/client.ts'
import { readRecords, type Decompress, type Turns } from '../../kafka/fetch/record-batch.ts'
import type { Report } from '../../kafka/report.ts'
import { nameOf } from '../../kafka/topic-partition.ts'
import type { AnswerOf } from '../wire/answers.ts'
import type { FetchedPartition } from './fetch-answer.ts'
import type { Fetched, FetchedPartitions } from './fetched-partitions.ts'

export interface AnswerParts {
  readonly answerOf: AnswerOf
  readonly decompressionOf: (codec: number) => Decompress | undefined
  readonly report: Report
  /** The first offset of a partition that the broker still has. */
  readonly lowOf: (topic: string, partition: number) => Promise<bigint>
  readonly commit: (request: CommitRequest) => Promise<void>
  readonly listener: {
    batch(payload: BatchPayload): Promise<void>
    controlBatch(batch: EndBatchProcess): void
    fetchFailed(): void
  }
}

/** Between two fetches of a partition that failed. */
export const AGAIN_MS = 100
export const MOST_AGAIN_MS = 2_000
const UNREADABLE_AGAIN_MS = 1_000
/** A replica that was added just now has a log that is still short. Below that the log is taken at its word. */
const LOOKS_OUT_OF_RANGE = 4

/** What a broker answers for one partition: messages to hand over, records to step over, or why there are none. */
export class PartitionAnswers {
  readonly #parts: AnswerParts
  readonly #partitions: FetchedPartitions
  /** A partition can be fetched again. */
  readonly #ready: () => void

  constructor(parts: AnswerParts, partitions: FetchedPartitions, ready: () => void) {
    this.#parts = parts
    this.#partitions = partitions
    this.#ready = ready
  }

  /** False if the partition had an error that another look at the cluster may mend. */
  async take(fetched: Fetched, offset: bigint, answer: FetchedPartition, turns: Turns): Promise<boolean> {
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
    const listed = answer.aborted // mutant: platformatic-aborted-not-listed
    let messages: Awaited<ReturnType<typeof readRecords>>
    try {
      messages = await readRecords(answer.records, listed, {
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
    if (!this.#partitions.isWanted(fetched, offset)) return true
    this.#partitions.behindOthers(fetched)
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
    if (this.#partitions.isCurrent(fetched, offset)) moveBehind(fetched, last)
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
        if (!this.#partitions.isCurrent(fetched, offset)) return
        const at = resolved === last.offset ? last : visible.findLast((message) => message.offset === resolved)
        if (at === undefined) fetched.position = BigInt(resolved) + 1n
        else moveBehind(fetched, at)
      },
      // A timer sends heartbeats.
      heartbeat: async () => {},
      commitOffsetsIfNecessary: async (request) => {
        if (request !== undefined) await this.#parts.commit(request)
      },
    })
    fetched.isBusy = false
    this.#ready()
  }

  /** At its word, the log begins above the position or ends below it. What that means is decided by who takes the batches. */
  async #leaveRange(fetched: Fetched, offset: bigint): Promise<boolean> {
    fetched.outOfRange++
    fetched.lastEpoch = -1
    if (fetched.outOfRange < LOOKS_OUT_OF_RANGE) return false
    const low = await this.#parts.lowOf(fetched.topic, fetched.partition).catch(() => undefined)
    if (low === undefined || !this.#partitions.isCurrent(fetched, offset)) return false
    fetched.position = low
    return true
  }
}

function moveBehind(fetched: Fetched, { offset, batchContext }: RawMessage): void {
  fetched.position = BigInt(offset) + 1n
  fetched.lastEpoch = batchContext?.partitionLeaderEpoch ?? -1
}
