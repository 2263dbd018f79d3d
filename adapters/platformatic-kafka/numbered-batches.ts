import { errorType } from '../kafka/protocol-error.ts'
import { BrokerAnswer } from './wire/answers.ts'
import type { Wire } from './wire/wire.ts'

/** By which the leader of a partition recognises a batch that comes again, as `@platformatic/kafka` takes them. */
export interface Numbers {
  readonly producerId: bigint
  readonly producerEpoch: number
  readonly sequences: { readonly getWithDefault: () => number }
}

interface Batch {
  readonly batch: object
  readonly count: number
}

interface Producing {
  readonly producerId: bigint
  readonly producerEpoch: number
  sequence: number
}

interface Partition {
  readonly producing: Promise<Producing>
  /** The batch that has the next numbers. If it is not confirmed, no other may have them. */
  batch: object | undefined
  /** Its answer may come after the caller has given up waiting, and sends it again. */
  confirmed: { readonly batch: object; readonly answer: unknown } | undefined
}

const NO_TRANSACTION = null
const TIMEOUT_MS = 60_000
const NEW_PRODUCER = [-1n, -1]
const MOST_SEQUENCE = 2 ** 31 - 1

/** The numbers do not fit what the leader remembers, and never will. */
const OUT_OF_STEP: ReadonlySet<string> = new Set([
  'OUT_OF_ORDER_SEQUENCE_NUMBER',
  'DUPLICATE_SEQUENCE_NUMBER',
  'UNKNOWN_PRODUCER_ID',
  'INVALID_PRODUCER_EPOCH',
])

/**
 * The numbers of an idempotent producer, for each partition apart: a producer ID of its own, and the sequence of its next
 * message. A batch keeps its numbers until it is confirmed. If another one follows without that, it gets a new producer ID:
 * with the numbers of a batch that is there the broker would take it for the same one, and confirm it unwritten.
 */
export class NumberedBatches {
  readonly #wire: Wire
  readonly #partitions = new Map<string, Partition>()

  constructor(wire: Wire) {
    this.#wire = wire
  }

  async send<T>(name: string, { batch, count }: Batch, produce: (numbers: Numbers) => Promise<T>): Promise<T> {
    const confirmed = this.#partitions.get(name)?.confirmed
    if (confirmed?.batch === batch) return confirmed.answer as T
    const partition = this.#partitionFor(name, batch)
    try {
      const producing = await partition.producing
      const { producerId, producerEpoch, sequence } = producing
      const answer = await produce({ producerId, producerEpoch, sequences: { getWithDefault: () => sequence } })
      if (partition.batch === batch) {
        partition.batch = undefined
        partition.confirmed = { batch, answer }
        producing.sequence += count
        if (producing.sequence > MOST_SEQUENCE - count) this.#forget(name, partition)
      }
      return answer
    } catch (error) {
      if (!OUT_OF_STEP.has(errorType(error))) throw error
      this.#forget(name, partition)
      throw new BrokerAnswer(errorType(error), true, error)
    }
  }

  #partitionFor(name: string, batch: object): Partition {
    const known = this.#partitions.get(name)
    if (known !== undefined && (known.batch === undefined || known.batch === batch)) {
      known.batch = batch
      return known
    }
    const partition: Partition = { producing: this.#newProducer(), batch, confirmed: undefined }
    this.#partitions.set(name, partition)
    partition.producing.catch(() => this.#forget(name, partition))
    return partition
  }

  #newProducer(): Promise<Producing> {
    const fields = [NO_TRANSACTION, TIMEOUT_MS, ...NEW_PRODUCER]
    return this.#wire
      .request<Omit<Producing, 'sequence'>>('InitProducerId', undefined, fields)
      .then(({ producerId, producerEpoch }) => ({ producerId, producerEpoch, sequence: 0 }))
  }

  #forget(name: string, partition: Partition): void {
    if (this.#partitions.get(name) === partition) this.#partitions.delete(name)
  }
}
