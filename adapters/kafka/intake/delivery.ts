import {
  originTopicIn,
  type Delivery,
  type Message,
  type Standing,
  type StreamPosition,
} from '../../../src/internal.ts'
import type { Assignment } from '../membership/assignment.ts'
import { headersOf, type KafkaMessage } from '../copies/headers.ts'
import { firstTimestampIn } from '../copies/origin.ts'
import type { Order } from '../options/options.ts'
import { landmarkOf, type PartitionEpoch } from '../membership/partition-epoch.ts'
import type { RawMessage } from '../client.ts'

/** kafkajs's number for a timestamp that the broker set when it appended the message. */
const LOG_APPEND_TIME = 1

/** The topic that counts as the origin of a message on `destination` whose headers name another. */
export type OriginOf = (destination: string, named: string) => string

interface Reading {
  readonly order: Order
  readonly originOf: OriginOf
}

export class KafkaDelivery implements Delivery {
  readonly message: Message
  readonly lane: Delivery['lane']
  readonly #assignment: Assignment
  readonly #epoch: PartitionEpoch
  readonly #offset: bigint
  readonly #follows: bigint | undefined
  readonly #ticket: number
  readonly #bytes: number
  #isFinished = false

  constructor(assignment: Assignment, epoch: PartitionEpoch, raw: RawMessage, { order, originOf }: Reading) {
    this.#assignment = assignment
    this.#epoch = epoch
    this.#offset = BigInt(raw.offset)
    this.#bytes = (raw.value?.length ?? 0) + (raw.key?.length ?? 0)
    this.#follows = epoch.follows
    this.message = toMessage(epoch, raw, originOf)
    this.#ticket = epoch.receive(this.#offset, this.#bytes, landmarkOf(raw, this.#offset))
    this.lane = epoch.lanes.of(raw.key, order)
  }

  get position(): StreamPosition {
    const { timestamp } = this.message
    return { stream: this.#epoch.name, offset: this.#offset, follows: this.#follows, timestamp }
  }

  standing(): Standing {
    return this.#assignment.standingOf(this.#epoch)
  }

  settle(): boolean {
    if (!this.#assignment.isLive(this.#epoch)) return false // mutant: settle-from-an-old-epoch
    if (!this.#isFinished) this.#epoch.finish(this.#ticket, this.#bytes)
    this.#isFinished = true
    return true
  }
}

export function toMessage(
  { topic, partition }: Pick<PartitionEpoch, 'topic' | 'partition'>,
  raw: RawMessage,
  originOf: OriginOf = (_destination, named) => named,
): KafkaMessage {
  const headers = headersOf(raw.headers)
  const timestamp = Number(raw.timestamp)
  const named = originTopicIn(headers)
  const origin = named === undefined ? topic : originOf(topic, named)
  return {
    system: 'kafka',
    destination: topic,
    origin,
    position: `${partition}@${raw.offset}`,
    key: raw.key,
    value: raw.value,
    headers,
    timestamp: timestamp >= 0 ? timestamp : undefined,
    firstTimestamp: named === origin ? firstTimestampIn(headers) : undefined,
    isAppendTimed: raw.batchContext?.timestampType === LOG_APPEND_TIME,
  }
}
